// Blocked transposes, one element at a time: a block's lines stay in the cache while they are written crosswise.
#include "kernels/layout/LayoutDetail.h"

namespace qfx::kernels {

static constexpr int64_t kBlock = 16;

template <class T>
static void transpose(const T *src, int64_t srcStride, T *dst, int64_t dstStride, int64_t rows, int64_t cols) {
  for (int64_t r0 = 0; r0 < rows; r0 += kBlock)
    for (int64_t c0 = 0; c0 < cols; c0 += kBlock) {
      int64_t r1 = r0 + kBlock < rows ? r0 + kBlock : rows, c1 = c0 + kBlock < cols ? c0 + kBlock : cols;
      for (int64_t c = c0; c < c1; ++c)
        for (int64_t r = r0; r < r1; ++r)
          dst[c * dstStride + r] = src[r * srcStride + c];
    }
}

const TransposeKernels transpose_scalar = {&transpose<uint8_t>, &transpose<uint32_t>};

} // namespace qfx::kernels
