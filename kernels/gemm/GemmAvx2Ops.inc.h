// The epilogue primitives of the 256-bit GEMM tiles (AVX2 and AVX-VNNI).
#include "kernels/isa/Intrinsics.h"

namespace {
namespace gemm {

struct Avx2Ops {
  using Acc = __m256i;
  using Float = __m256;
  static constexpr int kLanes = 8;

  static QFX_INLINE Acc zero() { return _mm256_setzero_si256(); }
  static QFX_INLINE Acc add(Acc x, Acc y) { return _mm256_add_epi32(x, y); }
  static QFX_INLINE Acc loadInts(const int32_t *src) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(src));
  }
  static QFX_INLINE void storeInts(int32_t *dst, Acc x) { _mm256_storeu_si256(reinterpret_cast<__m256i *>(dst), x); }
  static QFX_INLINE Float loadFloats(const float *src) { return _mm256_loadu_ps(src); }
  static QFX_INLINE void storeFloats(float *dst, Float x) { _mm256_storeu_ps(dst, x); }
  static QFX_INLINE Float broadcast(float x) { return _mm256_set1_ps(x); }
  static QFX_INLINE Float toFloat(Acc x) { return _mm256_cvtepi32_ps(x); }
  static QFX_INLINE Float addFloats(Float x, Float y) { return _mm256_add_ps(x, y); }
  static QFX_INLINE Float mulFloats(Float x, Float y) { return _mm256_mul_ps(x, y); }
  static QFX_INLINE Float fmaFloats(Float x, Float y, Float z) { return _mm256_fmadd_ps(x, y, z); }
  /// A NaN in x stays (maxps gives its second operand then).
  static QFX_INLINE Float maxFloats(Float floor, Float x) { return _mm256_max_ps(floor, x); }
  /// RNE(min(x, bound)); too small and NaN give the smallest integer.
  static QFX_INLINE Acc roundBelow(Float x, Float bound) { return _mm256_cvtps_epi32(_mm256_min_ps(bound, x)); }

  template <int NV> static QFX_INLINE void storeCodes(uint8_t *dst, const Acc (&x)[NV], const qfx::kernels::GemmTile &tile) {
    __m256i zeroPoint = _mm256_set1_epi16(static_cast<int16_t>(tile.zeroPoint));
    __m128i low = _mm_set1_epi8(static_cast<char>(tile.low)), high = _mm_set1_epi8(static_cast<char>(tile.high));
#pragma GCC unroll 8
    for (int v = 0; v < NV; v += 2) {
      __m256i words = _mm256_packs_epi32(x[v], x[v + 1 < NV ? v + 1 : v]);
      words = _mm256_permute4x64_epi64(_mm256_adds_epi16(words, zeroPoint), 0xD8);
      __m128i codes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
      codes = _mm_min_epu8(_mm_max_epu8(codes, low), high);
      if (v + 1 < NV)
        _mm_storeu_si128(reinterpret_cast<__m128i *>(dst + v * kLanes), codes);
      else
        _mm_storel_epi64(reinterpret_cast<__m128i *>(dst + v * kLanes), codes);
    }
  }
};

} // namespace gemm
} // namespace
