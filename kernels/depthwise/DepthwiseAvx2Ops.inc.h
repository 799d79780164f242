// The primitives shared by the 256-bit depthwise tiles (AVX2 and AVX-VNNI).
#include "kernels/isa/Intrinsics.h"

namespace {
namespace depthwise {

struct Avx2Ops {
  using Bytes = __m256i;
  using Acc = __m256i;
  using Float = __m256;
  static constexpr int kWidth = 32;

  static QFX_INLINE Bytes loadBytes(const uint8_t *src) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(src));
  }
  static QFX_INLINE __m256i loadWeights(const int8_t *src) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(src));
  }
  static QFX_INLINE void interleave(Bytes t0, Bytes t1, Bytes t2, Bytes t3, Bytes (&dwords)[4]) {
    Bytes low01 = _mm256_unpacklo_epi8(t0, t1), high01 = _mm256_unpackhi_epi8(t0, t1);
    Bytes low23 = _mm256_unpacklo_epi8(t2, t3), high23 = _mm256_unpackhi_epi8(t2, t3);
    dwords[0] = _mm256_unpacklo_epi16(low01, low23);
    dwords[1] = _mm256_unpackhi_epi16(low01, low23);
    dwords[2] = _mm256_unpacklo_epi16(high01, high23);
    dwords[3] = _mm256_unpackhi_epi16(high01, high23);
  }
  static QFX_INLINE Acc zero() { return _mm256_setzero_si256(); }
  static QFX_INLINE Acc add(Acc x, Acc y) { return _mm256_add_epi32(x, y); }
  static QFX_INLINE Acc loadInts(const int32_t *src) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(src));
  }
  static QFX_INLINE Float loadFloats(const float *src) { return _mm256_loadu_ps(src); }
  static QFX_INLINE Float broadcast(float x) { return _mm256_set1_ps(x); }
  static QFX_INLINE Float toFloat(Acc x) { return _mm256_cvtepi32_ps(x); }
  static QFX_INLINE Float addFloats(Float x, Float y) { return _mm256_add_ps(x, y); }
  static QFX_INLINE Float mulFloats(Float x, Float y) { return _mm256_mul_ps(x, y); }
  static QFX_INLINE Acc roundBelow(Float x, Float bound) { return _mm256_cvtps_epi32(_mm256_min_ps(bound, x)); }
  /// Packing inside lanes undoes the order that interleave left.
  static QFX_INLINE void storeCodes(uint8_t *dst, const Acc (&x)[4], const DepthwiseTile &tile) {
    __m256i zeroPoint = _mm256_set1_epi16(static_cast<int16_t>(tile.zeroPoint));
    __m256i low = _mm256_set1_epi8(static_cast<char>(tile.low)), high = _mm256_set1_epi8(static_cast<char>(tile.high));
    __m256i words0 = _mm256_adds_epi16(_mm256_packs_epi32(x[0], x[1]), zeroPoint);
    __m256i words1 = _mm256_adds_epi16(_mm256_packs_epi32(x[2], x[3]), zeroPoint);
    __m256i codes = _mm256_packus_epi16(words0, words1);
    codes = _mm256_min_epu8(_mm256_max_epu8(codes, low), high);
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(dst), codes);
  }
};

} // namespace depthwise
} // namespace
