// Finds, cuts and splits codes of 128 and more with AVX2.
#include "kernels/gemm/HighCodes.h"

#include "kernels/isa/Intrinsics.h"

int64_t qfx::kernels::findHighCodes_avx2(const uint8_t *a, int64_t rows, int64_t steps, int64_t ldaElems,
                                         int64_t capacity, int32_t *found) {
  int64_t count = 0;
  int64_t step = 0;
  for (; step + 4 <= steps; step += 4) {
    __m256i any = _mm256_setzero_si256();
    for (int64_t r = 0; r < rows; ++r)
      any = _mm256_or_si256(any, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(a + r * ldaElems + step * 8)));
    uint32_t mask = static_cast<uint32_t>(_mm256_movemask_epi8(any));
    for (int32_t i = 0; mask != 0; ++i, mask >>= 8) {
      if ((mask & 255) == 0)
        continue;
      if (count == capacity)
        return capacity + 1;
      found[count++] = static_cast<int32_t>(step) + i;
    }
  }
  for (; step < steps; ++step) {
    uint64_t any = 0;
    for (int64_t r = 0; r < rows; ++r) {
      uint64_t codes;
      __builtin_memcpy(&codes, a + r * ldaElems + step * 8, 8);
      any |= codes;
    }
    if ((any & 0x8080808080808080u) == 0)
      continue;
    if (count == capacity)
      return capacity + 1;
    found[count++] = static_cast<int32_t>(step);
  }
  return count;
}

void qfx::kernels::cutHighCodes_avx2(uint8_t *a, int64_t rows, int64_t ldaElems, const int32_t *found, int64_t count,
                                     uint8_t *high, int64_t ldhElems) {
  const __m128i largest = _mm_set1_epi8(127);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t r = 0; r < rows; ++r) {
      auto *from = reinterpret_cast<__m128i *>(a + r * ldaElems + found[i] * 8);
      __m128i codes = _mm_loadl_epi64(from);
      _mm_storel_epi64(from, _mm_min_epu8(codes, largest));
      _mm_storel_epi64(reinterpret_cast<__m128i *>(high + r * ldhElems + i * 8), _mm_subs_epu8(codes, largest));
    }
}

void qfx::kernels::splitCodes_avx2(const uint8_t *a, int64_t rows, int64_t steps, int64_t ldaElems, uint8_t *split,
                                   int64_t ldSplitElems, int32_t *sum) {
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t *from = a + r * ldaElems;
    uint8_t *to = split + r * ldSplitElems;
    __m128i total = _mm_setzero_si128();
    for (int64_t step = 0; step < steps; ++step, from += 8, to += 16) {
      __m128i value = _mm_xor_si128(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(from)), _mm_set1_epi8(-128));
      __m128i magnitude = _mm_abs_epi8(value), sign = _mm_cmpgt_epi8(_mm_setzero_si128(), value);
      _mm_storeu_si128(reinterpret_cast<__m128i *>(to), _mm_unpacklo_epi64(magnitude, sign));
      total = _mm_add_epi64(total, _mm_sad_epu8(_mm_and_si128(magnitude, sign), _mm_setzero_si128()));
    }
    sum[r] = _mm_cvtsi128_si32(total); // of the lower 8 bytes
  }
}
