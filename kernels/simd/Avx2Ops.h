// The words of ScalarOps.h spoken by AVX2 with FMA, eight lanes at a time; only *Avx2.cpp files include this.
#ifndef KERNELS_SIMD_AVX2OPS_H
#define KERNELS_SIMD_AVX2OPS_H

#include <cstdint>
#include <immintrin.h>
#include <xsimd/xsimd.hpp>

namespace qfx::kernels {
namespace {

struct Avx2Ops {
  using Arch = xsimd::fma3<xsimd::avx2>;
  using F = xsimd::batch<float, Arch>;
  using I = xsimd::batch<int32_t, Arch>;
  using M = xsimd::batch_bool<float, Arch>;
  static constexpr int N = 8;

  static F set(float v) { return F(v); }
  static I setInt(int32_t v) { return I(v); }
  static F load(const float *p) { return F::load_unaligned(p); }
  static void store(float *p, F v) { v.store_unaligned(p); }
  static I loadInt(const int32_t *p) { return I::load_unaligned(p); }
  static void storeInt(int32_t *p, I v) { v.store_unaligned(p); }

  static F fma(F a, F b, F c) { return xsimd::fma(a, b, c); }
  static F min(F a, F b) { return F(_mm256_min_ps(a, b)); } // the instruction's own rule: b where unordered or equal
  static F max(F a, F b) { return F(_mm256_max_ps(a, b)); }
  static F div(F a, F b) { return a / b; }
  static F sqrt(F a) { return xsimd::sqrt(a); }
  static F rne(F a) { return F(_mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)); }
  static F floor(F a) { return xsimd::floor(a); }
  static F trunc(F a) { return xsimd::trunc(a); }
  static F abs(F a) { return xsimd::abs(a); }
  static F select(M m, F a, F b) { return xsimd::select(m, a, b); }
  static I selectInt(M m, I a, I b) {
    return I(_mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(b), _mm256_castsi256_ps(a), m)));
  }
  static M isNan(F a) { return M(_mm256_cmp_ps(a, a, _CMP_UNORD_Q)); }
  static M either(M a, M b) { return a | b; }
  static M both(M a, M b) { return a & b; }
  static bool any(M a) { return xsimd::any(a); }
  static M less(F a, F b) { return a < b; }
  static M lessEqual(F a, F b) { return a <= b; }
  static M equal(F a, F b) { return a == b; }

  static I toInt(F a) { return I(_mm256_cvtps_epi32(a)); }
  static I toIntTrunc(F a) { return I(_mm256_cvttps_epi32(a)); }
  static F toFloat(I a) { return F(_mm256_cvtepi32_ps(a)); }
  static I bitsOf(F a) { return I(_mm256_castps_si256(a)); }
  static F ofBits(I a) { return F(_mm256_castsi256_ps(a)); }
  static I add(I a, I b) { return a + b; }
  static I sub(I a, I b) { return a - b; }
  static I mul(I a, I b) { return I(_mm256_mullo_epi32(a, b)); }
  static I bitAnd(I a, I b) { return a & b; }
  static I bitOr(I a, I b) { return a | b; }
  static I bitXor(I a, I b) { return a ^ b; }
  static I minInt(I a, I b) { return xsimd::min(a, b); }
  static I maxInt(I a, I b) { return xsimd::max(a, b); }
  template <int S> static I shiftLeft(I a) { return I(_mm256_slli_epi32(a, S)); }
  template <int S> static I shiftRight(I a) { return I(_mm256_srai_epi32(a, S)); }

  static I loadCodes(const uint8_t *p) { return I(_mm256_cvtepu8_epi32(load8(p))); }
  static I loadCodes(const int8_t *p) { return I(_mm256_cvtepi8_epi32(load8(p))); }
  static void storeCodes4(uint8_t *p, I a, I b, I c, I d) {
    __m256i ab = _mm256_packs_epi32(a, b), cd = _mm256_packs_epi32(c, d);
    put(p, _mm256_packus_epi16(ab, cd));
  }
  static void storeCodes4(int8_t *p, I a, I b, I c, I d) {
    __m256i ab = _mm256_packs_epi32(a, b), cd = _mm256_packs_epi32(c, d);
    put(p, _mm256_packs_epi16(ab, cd));
  }

  template <class T> struct Codes {
    using V = __m256i;
    static constexpr int N = 32;
    static V load(const T *p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)); }
    static void store(T *p, V v) { _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), v); }
    static V max(V a, V b) {
      if constexpr (static_cast<T>(-1) < static_cast<T>(0))
        return _mm256_max_epi8(a, b);
      else
        return _mm256_max_epu8(a, b);
    }
  };

private:
  static __m128i load8(const void *p) { return _mm_loadl_epi64(static_cast<const __m128i *>(p)); }
  /// The pack instructions work within 128-bit halves; this puts the eight groups of four back in order.
  static void put(void *p, __m256i packed) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(static_cast<__m256i *>(p), _mm256_permutevar8x32_epi32(packed, order));
  }
};

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_SIMD_AVX2OPS_H
