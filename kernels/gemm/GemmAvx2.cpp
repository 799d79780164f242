// GEMM tiles of AVX2: exact although vpmaddubsw adds pairs of products in saturating int16.
#include "kernels/gemm/GemmTile.inc.h"

#include "kernels/gemm/GemmAvx2Ops.inc.h"

namespace {
namespace gemm {

/// A dword of 4 codes in every lane.
QFX_INLINE __m256i broadcastCodes(const uint8_t *a) {
  int32_t codes;
  __builtin_memcpy(&codes, a, 4);
  return _mm256_set1_epi32(codes);
}

QFX_INLINE __m256i loadWeights(const int8_t *b) { return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(b)); }

struct PairB {
  __m256i first, second;
};

/// Steps of 8 in which four products of codes below 128 fit int16 (GemmPack.h): 3 multiplications for 64 products.
struct SafeDot {
  using A = PairB;
  using B = PairB;
  static constexpr int kStep = 8;
  static QFX_INLINE A loadA(const uint8_t *a) { return {broadcastCodes(a), broadcastCodes(a + 4)}; }
  static QFX_INLINE B loadB(const int8_t *b, int half) { return {loadWeights(b), loadWeights(b + half)}; }
  static QFX_INLINE __m256i dot(__m256i acc, A a, B b) {
    __m256i sum = _mm256_add_epi16(_mm256_maddubs_epi16(a.first, b.first), _mm256_maddubs_epi16(a.second, b.second));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(sum, _mm256_set1_epi16(1)));
  }
};

/// Any weights with codes below 128: a pair of products is at least -2*127*128, which fits int16.
struct PairDot {
  using A = PairB;
  using B = PairB;
  static constexpr int kStep = 8;
  static QFX_INLINE A loadA(const uint8_t *a) { return SafeDot::loadA(a); }
  static QFX_INLINE B loadB(const int8_t *b, int half) { return SafeDot::loadB(b, half); }
  static QFX_INLINE __m256i half(__m256i acc, __m256i a, __m256i b) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1)));
  }
  static QFX_INLINE __m256i dot(__m256i acc, A a, B b) {
    return half(half(acc, a.first, b.first), a.second, b.second);
  }
};

struct Words {
  __m256i even, odd;
};
QFX_INLINE Words widenSigned(__m256i x) { return {_mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8), _mm256_srai_epi16(x, 8)}; }

/// All codes, half a step of 8 at a time: even and odd codes widened to int16, products added in int32 by vpmaddwd.
struct WideHalf {
  static QFX_INLINE Words loadA(const uint8_t *a, int half) {
    __m256i codes = broadcastCodes(a + 4 * half);
    return {_mm256_and_si256(codes, _mm256_set1_epi16(0xff)), _mm256_srli_epi16(codes, 8)};
  }
  static QFX_INLINE Words loadB(const int8_t *b) { return widenSigned(loadWeights(b)); }
  static QFX_INLINE __m256i dot(__m256i acc, Words a, Words b) {
    acc = _mm256_add_epi32(acc, _mm256_madd_epi16(a.even, b.even));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(a.odd, b.odd));
  }
};

/// Adds all steps of the panel, half a step at a time: the widened weights of a whole one would not fit the registers.
template <int MR, int NV> QFX_INLINE void accumulateWide(__m256i (&acc)[MR][NV], const GemmTile &tile) {
  const int8_t *b = tile.b;
  for (int64_t step = 0; step < tile.blocks; ++step) {
    const uint8_t *ak = tile.a + tile.order[step];
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half, b += NV * 32) {
      Words bv[NV];
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v)
        bv[v] = WideHalf::loadB(b + v * 32);
#pragma GCC unroll 8
      for (int r = 0; r < MR; ++r) {
        Words av = WideHalf::loadA(ak + r * tile.ldaElems, half);
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v)
          acc[r][v] = WideHalf::dot(acc[r][v], av, bv[v]);
      }
    }
  }
}

/// Adds steps [begin, end) of the panel, of split codes (HighCodes.h).  Pairs of products always fit int16, fours in balanced steps.
template <bool Balanced, int MR, int NV>
QFX_INLINE void accumulateSplit(__m256i (&acc)[MR][NV], const GemmTile &tile, int64_t begin, int64_t end) {
  const __m256i ones = _mm256_set1_epi16(1);
  const int8_t *b = tile.b + begin * NV * 64;
  for (int64_t step = begin; step < end; ++step, b += NV * 64) {
    const uint8_t *ak = tile.split + 2 * tile.order[step];
#pragma GCC unroll 8
    for (int r = 0; r < MR; ++r) {
      const uint8_t *row = ak + r * tile.ldSplitElems;
      __m256i first[NV];
      __m256i magnitude = broadcastCodes(row), sign = broadcastCodes(row + 8);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v)
        first[v] = _mm256_maddubs_epi16(magnitude, _mm256_xor_si256(sign, loadWeights(b + v * 32)));
      magnitude = broadcastCodes(row + 4);
      sign = broadcastCodes(row + 12);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) {
        __m256i second = _mm256_maddubs_epi16(magnitude, _mm256_xor_si256(sign, loadWeights(b + NV * 32 + v * 32)));
        if constexpr (Balanced) {
          acc[r][v] = _mm256_add_epi32(acc[r][v], _mm256_madd_epi16(_mm256_add_epi16(first[v], second), ones));
        } else {
          acc[r][v] = _mm256_add_epi32(acc[r][v], _mm256_madd_epi16(first[v], ones));
          acc[r][v] = _mm256_add_epi32(acc[r][v], _mm256_madd_epi16(second, ones));
        }
      }
    }
  }
}

/// What was cut off the codes, at most 128: a pair of its products is at least -2*128*128, which fits int16.
template <int MR, int NV> QFX_INLINE void addHigh(__m256i (&acc)[MR][NV], const GemmTile &tile) {
  constexpr int kHalf = NV * 32;
  const uint8_t *high = tile.highCodes;
  for (int64_t i = 0; i < tile.highSteps; ++i, high += 8) {
    const int8_t *b = tile.b + int64_t(tile.place[tile.highStep[i]]) * 2 * kHalf;
#pragma GCC unroll 8
    for (int r = 0; r < MR; ++r) {
      PairB codes = PairDot::loadA(high + r * tile.ldhElems);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v)
        acc[r][v] = PairDot::dot(acc[r][v], codes, PairDot::loadB(b + v * 32, kHalf));
    }
  }
}

/// Codes below 128: the safe steps, then the others, then what was cut off.
template <int MR, int NV> __attribute__((noinline)) void below128Tile(const GemmTile &tile) {
  __m256i acc[MR][NV];
  clearTile<Avx2Ops, MR, NV>(acc);
  accumulate<Avx2Ops, SafeDot, MR, NV, true>(acc, tile, 0, tile.safeBlocks);
  accumulate<Avx2Ops, PairDot, MR, NV, true>(acc, tile, tile.safeBlocks, tile.blocks);
  addHigh<MR, NV>(acc, tile);
  storeTile<Avx2Ops, MR, NV>(acc, tile);
}

template <int MR, int NV> __attribute__((noinline)) void wideTile(const GemmTile &tile) {
  __m256i acc[MR][NV];
  clearTile<Avx2Ops, MR, NV>(acc);
  accumulateWide<MR, NV>(acc, tile);
  storeTile<Avx2Ops, MR, NV>(acc, tile);
}

/// Split codes: the balanced steps, then the others, on top of what makes up for the codes' shift and the weights' inversion.
template <int MR, int NV> __attribute__((noinline)) void splitTile(const GemmTile &tile) {
  __m256i acc[MR][NV];
#pragma GCC unroll 8
  for (int r = 0; r < MR; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v)
      acc[r][v] = _mm256_add_epi32(_mm256_slli_epi32(Avx2Ops::loadInts(tile.weightSum + v * 8), 7), _mm256_set1_epi32(tile.splitSum[r]));
  accumulateSplit<true, MR, NV>(acc, tile, 0, tile.balancedBlocks);
  accumulateSplit<false, MR, NV>(acc, tile, tile.balancedBlocks, tile.blocks);
  storeTile<Avx2Ops, MR, NV>(acc, tile);
}

template <int MR> QFX_INLINE void runRows(const GemmTile &tile) {
  if (tile.below128)
    tile.columns > 8 ? below128Tile<MR, 2>(tile) : below128Tile<MR, 1>(tile);
  else if (tile.split)
    tile.columns > 8 ? splitTile<MR, 2>(tile) : splitTile<MR, 1>(tile);
  else
    tile.columns > 8 ? wideTile<MR, 2>(tile) : wideTile<MR, 1>(tile);
}

} // namespace gemm
} // namespace

void qfx::kernels::gemm_u8s8s32_4x16x8_avx2(int rows, const GemmTile &tile) {
  switch (rows) {
  case 1:
    return gemm::runRows<1>(tile);
  case 2:
    return gemm::runRows<2>(tile);
  case 3:
    return gemm::runRows<3>(tile);
  default:
    return gemm::runRows<4>(tile);
  }
}
