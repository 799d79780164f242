// Finds and cuts codes of 128 and more with AVX2.
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
