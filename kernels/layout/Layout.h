// Moves elements without looking at them: transposes, permutations, strided blocks.
#ifndef KERNELS_LAYOUT_LAYOUT_H
#define KERNELS_LAYOUT_LAYOUT_H

#include "kernels/isa/Isa.h"

#include <cstdint>

namespace qfx::kernels {

/// Transposes of one instruction set: dst [cols, rows] = src [rows, cols], row strides in elements, no overlap.
struct TransposeKernels {
  void (*transpose8)(const uint8_t *src, int64_t srcStride, uint8_t *dst, int64_t dstStride, int64_t rows,
                     int64_t cols);
  void (*transpose32)(const uint32_t *src, int64_t srcStride, uint32_t *dst, int64_t dstStride, int64_t rows,
                      int64_t cols);
};

/// \returns the transposes for `isa`; ask once and keep the reference.
const TransposeKernels &selectTranspose(Isa isa = getCurrentIsa());

/// NCHW to NHWC: src [batch, channels, positions] -> dst [batch, positions, channels], images [begin, end).
/// T is float, uint8_t or int8_t (moved as bits).  The way back is the same call with channels and positions exchanged.
template <class T>
void channelsToInner(const TransposeKernels &kernels, const T *src, T *dst, int64_t channels, int64_t positions,
                     int64_t begin, int64_t end);

inline constexpr int kMaxCopyRank = 8;

/// dst element (i0, i1, ...) = src element (i0, i1, ...) for all indices below `sizes`; strides in elements, any sign,
/// src strides may be 0.  Element size 1, 2, 4, 8 or 16 bytes (asserted).  Permute, expand, slice, flip, cat and
/// contiguous are all this call with the right strides.  Dimensions are merged and ordered for locality first.  No
/// overlap.
void copyStrided(int rank, const int64_t *sizes, int elemSizeBytes, const void *src, const int64_t *srcStrides,
                 void *dst, const int64_t *dstStrides);

/// Copies `rows` runs of `rowBytes` bytes: cat and slice along one dimension.
void copyRows(int64_t rows, int64_t rowBytes, const void *src, int64_t srcStrideBytes, void *dst,
              int64_t dstStrideBytes);

/// Fills n elements with one value of 1, 2, 4 or 8 bytes read from `value`.
void fillElements(void *dst, int elemSizeBytes, int64_t n, const void *value);

} // namespace qfx::kernels

#endif // KERNELS_LAYOUT_LAYOUT_H
