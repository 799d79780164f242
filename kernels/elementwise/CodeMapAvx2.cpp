// Table lookup and clamping of 32 codes at a time: sixteen 16-byte shuffles chosen among by the high nibble's bits.
#include "kernels/elementwise/CodeMapDetail.h"

#include <immintrin.h>

namespace qfx::kernels {
namespace {

inline __m256i loadCodes(const void *p) { return _mm256_loadu_si256(static_cast<const __m256i *>(p)); }
inline void storeCodes(void *p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i *>(p), v); }

inline __m256i shuffleTable(const uint8_t *table, __m256i low) {
  __m256i entries = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i *>(table)));
  return _mm256_shuffle_epi8(entries, low);
}

/// The blend instruction looks at each byte's top bit only, so shifting a wanted bit up there selects by it.
inline __m256i blend(__m256i ifClear, __m256i ifSet, __m256i bit) { return _mm256_blendv_epi8(ifClear, ifSet, bit); }

inline __m256i lookup(__m256i x, const uint8_t *entry) {
  const __m256i low = _mm256_and_si256(x, _mm256_set1_epi8(15));
  const __m256i bit4 = _mm256_slli_epi16(x, 3), bit5 = _mm256_slli_epi16(x, 2), bit6 = _mm256_slli_epi16(x, 1);
  __m256i eighth[2], quarter[2], half[2];
  for (int h = 0; h < 2; ++h) {
    for (int q = 0; q < 2; ++q) {
      for (int e = 0; e < 2; ++e) {
        const uint8_t *table = entry + 128 * h + 64 * q + 32 * e;
        eighth[e] = blend(shuffleTable(table, low), shuffleTable(table + 16, low), bit4);
      }
      quarter[q] = blend(eighth[0], eighth[1], bit5);
    }
    half[h] = blend(quarter[0], quarter[1], bit6);
  }
  return blend(half[0], half[1], x);
}

void applyLut(const uint8_t *src, uint8_t *dst, int64_t n, const CodeLut &lut) {
  int64_t i = 0;
  for (; i + 32 <= n; i += 32)
    storeCodes(dst + i, lookup(loadCodes(src + i), lut.entry));
  for (; i < n; ++i)
    dst[i] = lut.entry[src[i]];
}

void clampU8(const uint8_t *src, uint8_t *dst, int64_t n, uint8_t lo, uint8_t hi) {
  const __m256i low = _mm256_set1_epi8(static_cast<char>(lo)), high = _mm256_set1_epi8(static_cast<char>(hi));
  int64_t i = 0;
  for (; i + 32 <= n; i += 32)
    storeCodes(dst + i, _mm256_min_epu8(_mm256_max_epu8(loadCodes(src + i), low), high));
  for (; i < n; ++i) {
    uint8_t raised = src[i] < lo ? lo : src[i];
    dst[i] = raised > hi ? hi : raised;
  }
}

void clampS8(const int8_t *src, int8_t *dst, int64_t n, int8_t lo, int8_t hi) {
  const __m256i low = _mm256_set1_epi8(lo), high = _mm256_set1_epi8(hi);
  int64_t i = 0;
  for (; i + 32 <= n; i += 32)
    storeCodes(dst + i, _mm256_min_epi8(_mm256_max_epi8(loadCodes(src + i), low), high));
  for (; i < n; ++i) {
    int8_t raised = src[i] < lo ? lo : src[i];
    dst[i] = raised > hi ? hi : raised;
  }
}

} // namespace

const CodeMapKernels code_map_avx2 = {&applyLut, &clampU8, &clampS8};

} // namespace qfx::kernels
