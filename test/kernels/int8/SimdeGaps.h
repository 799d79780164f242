// Conversions that older SIMDe releases lack, as two 256-bit halves; forced into the emulated kernel sources.
#ifndef TEST_KERNELS_INT8_SIMDEGAPS_H
#define TEST_KERNELS_INT8_SIMDEGAPS_H

#include "kernels/isa/Intrinsics.h"

#include <cstdint>

inline simde__m512 qfxIntsToFloats(simde__m512i x) {
  alignas(64) int32_t ints[16];
  alignas(64) float floats[16];
  simde_mm512_storeu_si512(ints, x);
  for (int half = 0; half < 16; half += 8)
    _mm256_store_ps(floats + half, _mm256_cvtepi32_ps(_mm256_load_si256(reinterpret_cast<__m256i *>(ints + half))));
  return simde_mm512_loadu_ps(floats);
}

inline simde__m512i qfxFloatsToInts(simde__m512 x) {
  alignas(64) int32_t ints[16];
  alignas(64) float floats[16];
  simde_mm512_storeu_ps(floats, x);
  for (int half = 0; half < 16; half += 8)
    _mm256_store_si256(reinterpret_cast<__m256i *>(ints + half), _mm256_cvtps_epi32(_mm256_load_ps(floats + half)));
  return simde_mm512_loadu_si512(ints);
}

inline __m128i qfxIntsToBytes(simde__m512i x) {
  alignas(64) int32_t ints[16];
  alignas(16) int8_t bytes[16];
  simde_mm512_storeu_si512(ints, x);
  for (int i = 0; i < 16; ++i)
    bytes[i] = static_cast<int8_t>(ints[i]);
  return _mm_load_si128(reinterpret_cast<__m128i *>(bytes));
}

#undef _mm512_cvtepi32_ps
#undef _mm512_cvtps_epi32
#undef _mm512_cvtepi32_epi8
#define _mm512_cvtepi32_ps qfxIntsToFloats
#define _mm512_cvtps_epi32 qfxFloatsToInts
#define _mm512_cvtepi32_epi8 qfxIntsToBytes

#endif // TEST_KERNELS_INT8_SIMDEGAPS_H
