// Depthwise tile of AVX512-VNNI: one 512-bit vpdpbusd for four taps of sixteen channels.
#include "kernels/depthwise/DepthwiseTile.inc.h"

#include "kernels/isa/Intrinsics.h"

namespace {
namespace depthwise {

struct Avx512Ops {
  using Bytes = __m512i;
  using Acc = __m512i;
  using Float = __m512;
  static constexpr int kWidth = 64;

  static QFX_INLINE Bytes loadBytes(const uint8_t *src) { return _mm512_loadu_si512(src); }
  static QFX_INLINE void interleave(Bytes t0, Bytes t1, Bytes t2, Bytes t3, Bytes (&dwords)[4]) {
    Bytes low01 = _mm512_unpacklo_epi8(t0, t1), high01 = _mm512_unpackhi_epi8(t0, t1);
    Bytes low23 = _mm512_unpacklo_epi8(t2, t3), high23 = _mm512_unpackhi_epi8(t2, t3);
    dwords[0] = _mm512_unpacklo_epi16(low01, low23);
    dwords[1] = _mm512_unpackhi_epi16(low01, low23);
    dwords[2] = _mm512_unpacklo_epi16(high01, high23);
    dwords[3] = _mm512_unpackhi_epi16(high01, high23);
  }
  static QFX_INLINE Acc dot(Acc acc, Bytes dwords, const int8_t *weights) {
    __m512i w = _mm512_loadu_si512(weights);
#ifdef QFX_SIMDE
    return simde_mm512_dpbusd_epi32(acc, dwords, w);
#else
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(dwords), "v"(w));
    return acc;
#endif
  }
  static QFX_INLINE Acc zero() { return _mm512_setzero_si512(); }
  static QFX_INLINE Acc add(Acc x, Acc y) { return _mm512_add_epi32(x, y); }
  static QFX_INLINE Acc loadInts(const int32_t *src) { return _mm512_loadu_si512(src); }
  static QFX_INLINE Float loadFloats(const float *src) { return _mm512_loadu_ps(src); }
  static QFX_INLINE Float broadcast(float x) { return _mm512_set1_ps(x); }
  static QFX_INLINE Float toFloat(Acc x) { return _mm512_cvtepi32_ps(x); }
  static QFX_INLINE Float addFloats(Float x, Float y) { return _mm512_add_ps(x, y); }
  static QFX_INLINE Float mulFloats(Float x, Float y) { return _mm512_mul_ps(x, y); }
  static QFX_INLINE Acc roundBelow(Float x, Float bound) { return _mm512_cvtps_epi32(_mm512_min_ps(bound, x)); }
  /// Packing inside lanes undoes the order that interleave left.
  static QFX_INLINE void storeCodes(uint8_t *dst, const Acc (&x)[4], const DepthwiseTile &tile) {
    __m512i zeroPoint = _mm512_set1_epi16(static_cast<int16_t>(tile.zeroPoint));
    __m512i low = _mm512_set1_epi8(static_cast<char>(tile.low)), high = _mm512_set1_epi8(static_cast<char>(tile.high));
    __m512i words0 = _mm512_adds_epi16(_mm512_packs_epi32(x[0], x[1]), zeroPoint);
    __m512i words1 = _mm512_adds_epi16(_mm512_packs_epi32(x[2], x[3]), zeroPoint);
    __m512i codes = _mm512_packus_epi16(words0, words1);
    _mm512_storeu_si512(dst, _mm512_min_epu8(_mm512_max_epu8(codes, low), high));
  }
};

} // namespace depthwise
} // namespace

void qfx::kernels::depthwise_u8s8s32_64x4_avx512vnni(const DepthwiseTile &tile) {
  depthwise::runTile<depthwise::Avx512Ops>(tile);
}
