// Transposes of 8x8 words and 16x16 bytes in registers.
#include "kernels/layout/LayoutDetail.h"

#include <immintrin.h>

namespace qfx::kernels {
namespace {

/// 8 rows of 8 words.
inline void tile32(const uint32_t *src, int64_t srcStride, uint32_t *dst, int64_t dstStride) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i)
    r[i] = _mm256_loadu_ps(reinterpret_cast<const float *>(src + i * srcStride));
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], _MM_SHUFFLE(1, 0, 1, 0));
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], _MM_SHUFFLE(3, 2, 3, 2));
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], _MM_SHUFFLE(1, 0, 1, 0));
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], _MM_SHUFFLE(3, 2, 3, 2));
  }
  for (int i = 0; i < 4; ++i) {
    __m256 low = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20), high = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    _mm256_storeu_ps(reinterpret_cast<float *>(dst + i * dstStride), low);
    _mm256_storeu_ps(reinterpret_cast<float *>(dst + (i + 4) * dstStride), high);
  }
}

/// 16 rows of 16 bytes: four rounds of interleaving row i with row i + 8.
inline void tile8(const uint8_t *src, int64_t srcStride, uint8_t *dst, int64_t dstStride) {
  __m128i r[16], t[16];
  for (int i = 0; i < 16; ++i)
    r[i] = _mm_loadu_si128(reinterpret_cast<const __m128i *>(src + i * srcStride));
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 8; ++i) {
      t[2 * i] = _mm_unpacklo_epi8(r[i], r[i + 8]);
      t[2 * i + 1] = _mm_unpackhi_epi8(r[i], r[i + 8]);
    }
    for (int i = 0; i < 16; ++i)
      r[i] = t[i];
  }
  for (int i = 0; i < 16; ++i)
    _mm_storeu_si128(reinterpret_cast<__m128i *>(dst + i * dstStride), r[i]);
}

template <class T> void edge(const T *src, int64_t srcStride, T *dst, int64_t dstStride, int64_t rows, int64_t cols) {
  for (int64_t c = 0; c < cols; ++c)
    for (int64_t r = 0; r < rows; ++r)
      dst[c * dstStride + r] = src[r * srcStride + c];
}

template <class T, int Tile, void (*Kernel)(const T *, int64_t, T *, int64_t)>
void transpose(const T *src, int64_t srcStride, T *dst, int64_t dstStride, int64_t rows, int64_t cols) {
  const int64_t fullRows = rows / Tile * Tile, fullCols = cols / Tile * Tile;
  for (int64_t c = 0; c < fullCols; c += Tile)
    for (int64_t r = 0; r < fullRows; r += Tile)
      Kernel(src + r * srcStride + c, srcStride, dst + c * dstStride + r, dstStride);
  edge(src + fullCols, srcStride, dst + fullCols * dstStride, dstStride, rows, cols - fullCols);
  edge(src + fullRows * srcStride, srcStride, dst + fullRows, dstStride, rows - fullRows, fullCols);
}

} // namespace

const TransposeKernels transpose_avx2 = {&transpose<uint8_t, 16, &tile8>, &transpose<uint32_t, 8, &tile32>};

} // namespace qfx::kernels
