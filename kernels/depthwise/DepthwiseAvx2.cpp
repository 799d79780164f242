// Depthwise tiles of AVX2: exact although vpmaddubsw adds pairs of products in saturating int16.
#include "kernels/depthwise/DepthwiseTile.inc.h"

#include "kernels/depthwise/DepthwiseAvx2Ops.inc.h"

namespace {
namespace depthwise {

/// Codes below 128: a pair of products is at least -2*127*128, which fits int16.
struct PairOps : Avx2Ops {
  static QFX_INLINE Acc dot(Acc acc, Bytes dwords, const int8_t *weights) {
    __m256i pairs = _mm256_maddubs_epi16(dwords, loadWeights(weights));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};

/// All codes: even and odd taps widened to int16.
struct WideOps : Avx2Ops {
  static QFX_INLINE Acc dot(Acc acc, Bytes dwords, const int8_t *weights) {
    __m256i w = loadWeights(weights), evenW = _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8);
    __m256i even = _mm256_and_si256(dwords, _mm256_set1_epi16(0xff)), odd = _mm256_srli_epi16(dwords, 8);
    acc = _mm256_add_epi32(acc, _mm256_madd_epi16(even, evenW));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(odd, _mm256_srai_epi16(w, 8)));
  }
};

} // namespace depthwise
} // namespace

void qfx::kernels::depthwise_u8s8s32_32x4_avx2(const DepthwiseTile &tile) {
  tile.below128 ? depthwise::runTile<depthwise::PairOps>(tile) : depthwise::runTile<depthwise::WideOps>(tile);
}

bool qfx::kernels::below128_avx2(const uint8_t *a, int64_t rows, int64_t width, int64_t ldaElems) {
  __m256i any = _mm256_setzero_si256();
  uint8_t tail = 0;
  for (int64_t r = 0; r < rows; ++r, a += ldaElems) {
    int64_t k = 0;
    for (; k + 32 <= width; k += 32)
      any = _mm256_or_si256(any, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(a + k)));
    for (; k < width; ++k)
      tail |= a[k];
  }
  return _mm256_movemask_epi8(any) == 0 && tail < 128;
}
