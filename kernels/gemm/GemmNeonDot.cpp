// GEMM tiles of NEON with dot products: sdot on codes less 128, the difference made good by the column sums.
#include "kernels/gemm/GemmTile.inc.h"

#include <arm_neon.h>

namespace {
namespace gemm {

struct NeonOps {
  using Acc = int32x4_t;
  using Float = float32x4_t;
  static constexpr int kLanes = 4;

  static QFX_INLINE Acc zero() { return vdupq_n_s32(0); }
  static QFX_INLINE Acc add(Acc x, Acc y) { return vaddq_s32(x, y); }
  static QFX_INLINE Acc loadInts(const int32_t *src) { return vld1q_s32(src); }
  static QFX_INLINE void storeInts(int32_t *dst, Acc x) { vst1q_s32(dst, x); }
  static QFX_INLINE Float loadFloats(const float *src) { return vld1q_f32(src); }
  static QFX_INLINE void storeFloats(float *dst, Float x) { vst1q_f32(dst, x); }
  static QFX_INLINE Float broadcast(float x) { return vdupq_n_f32(x); }
  static QFX_INLINE Float toFloat(Acc x) { return vcvtq_f32_s32(x); }
  static QFX_INLINE Float addFloats(Float x, Float y) { return vaddq_f32(x, y); }
  static QFX_INLINE Float mulFloats(Float x, Float y) { return vmulq_f32(x, y); }
  static QFX_INLINE Float fmaFloats(Float x, Float y, Float z) { return vfmaq_f32(z, x, y); }
  /// A NaN in x stays.
  static QFX_INLINE Float maxFloats(Float floor, Float x) { return vmaxq_f32(floor, x); }
  /// RNE(min(x, bound)); a NaN gives an integer below every code, as on x86.
  static QFX_INLINE Acc roundBelow(Float x, Float bound) {
    return vcvtnq_s32_f32(vminq_f32(vmaxnmq_f32(x, vdupq_n_f32(-1e9f)), bound));
  }

  template <int NV> static QFX_INLINE void storeCodes(uint8_t *dst, const Acc (&x)[NV], const GemmTile &tile) {
    uint8x8_t low = vdup_n_u8(static_cast<uint8_t>(tile.low)), high = vdup_n_u8(static_cast<uint8_t>(tile.high));
    int16x8_t zeroPoint = vdupq_n_s16(static_cast<int16_t>(tile.zeroPoint));
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      int16x4_t words = vqmovn_s32(x[v]);
      uint8x8_t codes = vqmovun_s16(vqaddq_s16(vcombine_s16(words, words), zeroPoint));
      codes = vmin_u8(vmax_u8(codes, low), high);
      uint32_t four = vget_lane_u32(vreinterpret_u32_u8(codes), 0);
      __builtin_memcpy(dst + v * kLanes, &four, 4);
    }
  }
};

/// sum a*b = sum (a - 128)*b + 128 * sum b; the second sum runs beside the first.
template <int MR, int NV> __attribute__((noinline)) void signedTile(const GemmTile &tile) {
  int32x4_t acc[MR][NV], columnSums[NV];
  clearTile<NeonOps, MR, NV>(acc);
  for (int v = 0; v < NV; ++v)
    columnSums[v] = vdupq_n_s32(0);
  const int8x16_t minus128 = vdupq_n_s8(-128);
  const int8_t *b = tile.b;
  const uint8_t *a = tile.a;
  for (int64_t step = 0; step < tile.blocks; ++step, a += 4, b += NV * 16) {
    int8x16_t bv[NV];
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      bv[v] = vld1q_s8(b + v * 16);
      columnSums[v] = vdotq_s32(columnSums[v], bv[v], minus128);
    }
#pragma GCC unroll 8
    for (int r = 0; r < MR; ++r) {
      uint32_t codes;
      __builtin_memcpy(&codes, a + r * tile.ldaElems, 4);
      int8x16_t av = vreinterpretq_s8_u32(veorq_u32(vdupq_n_u32(codes), vdupq_n_u32(0x80808080u)));
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v)
        acc[r][v] = vdotq_s32(acc[r][v], bv[v], av);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < MR; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v)
      acc[r][v] = vsubq_s32(acc[r][v], columnSums[v]);
  storeTile<NeonOps, MR, NV>(acc, tile);
}

template <int MR> QFX_INLINE void runRows(const GemmTile &tile) {
  switch ((tile.columns + 3) / 4) {
  case 1:
    return signedTile<MR, 1>(tile);
  case 2:
    return signedTile<MR, 2>(tile);
  case 3:
    return signedTile<MR, 3>(tile);
  default:
    return signedTile<MR, 4>(tile);
  }
}

} // namespace gemm
} // namespace

void qfx::kernels::gemm_u8s8s32_4x16x4_neondot(int rows, const GemmTile &tile) {
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
