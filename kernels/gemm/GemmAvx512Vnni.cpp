// GEMM tiles of AVX512-VNNI: vpdpbusd on 512-bit registers, 24 accumulators.
#include "kernels/gemm/GemmTile.inc.h"

#include "kernels/isa/Intrinsics.h"

namespace {
namespace gemm {

struct Avx512Ops {
  using Acc = __m512i;
  using Float = __m512;
  static constexpr int kLanes = 16;

  static QFX_INLINE Acc zero() { return _mm512_setzero_si512(); }
  static QFX_INLINE Acc add(Acc x, Acc y) { return _mm512_add_epi32(x, y); }
  static QFX_INLINE Acc loadInts(const int32_t *src) { return _mm512_loadu_si512(src); }
  static QFX_INLINE void storeInts(int32_t *dst, Acc x) { _mm512_storeu_si512(dst, x); }
  static QFX_INLINE Float loadFloats(const float *src) { return _mm512_loadu_ps(src); }
  static QFX_INLINE void storeFloats(float *dst, Float x) { _mm512_storeu_ps(dst, x); }
  static QFX_INLINE Float broadcast(float x) { return _mm512_set1_ps(x); }
  static QFX_INLINE Float toFloat(Acc x) { return _mm512_cvtepi32_ps(x); }
  static QFX_INLINE Float addFloats(Float x, Float y) { return _mm512_add_ps(x, y); }
  static QFX_INLINE Float mulFloats(Float x, Float y) { return _mm512_mul_ps(x, y); }
  static QFX_INLINE Float fmaFloats(Float x, Float y, Float z) { return _mm512_fmadd_ps(x, y, z); }
  /// A NaN in x stays (maxps gives its second operand then).
  static QFX_INLINE Float maxFloats(Float floor, Float x) { return _mm512_max_ps(floor, x); }
  /// RNE(min(x, bound)); too small and NaN give the smallest integer.
  static QFX_INLINE Acc roundBelow(Float x, Float bound) { return _mm512_cvtps_epi32(_mm512_min_ps(bound, x)); }

  template <int NV> static QFX_INLINE void storeCodes(uint8_t *dst, const Acc (&x)[NV], const GemmTile &tile) {
    __m512i zeroPoint = _mm512_set1_epi32(tile.zeroPoint), low = _mm512_set1_epi32(tile.low);
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      __m512i codes = _mm512_max_epi32(_mm512_add_epi32(x[v], zeroPoint), low);
      _mm_storeu_si128(reinterpret_cast<__m128i *>(dst + v * kLanes), _mm512_cvtepi32_epi8(codes));
    }
  }
};

struct Avx512VnniDot {
  using A = __m512i;
  using B = __m512i;
  static constexpr int kStep = 4;
  static QFX_INLINE A loadA(const uint8_t *a) {
    int32_t codes;
    __builtin_memcpy(&codes, a, 4);
    return _mm512_set1_epi32(codes);
  }
  static QFX_INLINE B loadB(const int8_t *b, int) { return _mm512_loadu_si512(b); }
  static QFX_INLINE __m512i dot(__m512i acc, A a, B b) {
#ifdef QFX_SIMDE
    return simde_mm512_dpbusd_epi32(acc, a, b);
#else
    // g++ 12 keeps the accumulators of a large tile on the stack when it sees the intrinsic.
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
    return acc;
#endif
  }
};

template <int MR> QFX_INLINE void runRows(const GemmTile &tile) {
  switch ((tile.columns + 15) / 16) {
  case 1:
    return exactTile<Avx512Ops, Avx512VnniDot, MR, 1>(tile);
  case 2:
    return exactTile<Avx512Ops, Avx512VnniDot, MR, 2>(tile);
  case 3:
    return exactTile<Avx512Ops, Avx512VnniDot, MR, 3>(tile);
  default:
    return exactTile<Avx512Ops, Avx512VnniDot, MR, 4>(tile);
  }
}

} // namespace gemm
} // namespace

void qfx::kernels::gemm_u8s8s32_6x64x4_avx512vnni(int rows, const GemmTile &tile) {
  switch (rows) {
  case 1:
    return gemm::runRows<1>(tile);
  case 2:
    return gemm::runRows<2>(tile);
  case 3:
    return gemm::runRows<3>(tile);
  case 4:
    return gemm::runRows<4>(tile);
  case 5:
    return gemm::runRows<5>(tile);
  default:
    return gemm::runRows<6>(tile);
  }
}
