// Sums and means over a block of dimensions, softmax and the per-channel affine map of batch norm.
#ifndef KERNELS_REDUCE_REDUCE_H
#define KERNELS_REDUCE_REDUCE_H

#include "kernels/isa/Isa.h"

#include <cstdint>

namespace qfx::kernels {

/// Rows of one instruction set; results do not depend on it, nor on how rows are split over threads.
struct ReduceKernels {
  /// Sum of n consecutive f32: sixteen interleaved f32 lanes per block of 1024, blocks added in double.
  double (*sum)(const float *src, int64_t n);
  /// Largest of n >= 1 values; NaN if any is.
  float (*max)(const float *src, int64_t n);
  /// dst[c] = sum over `count` rows of src[r * rowStride + c], added in double in row order.
  void (*sumRows)(const float *src, int64_t count, int64_t rowStride, int64_t channels, double *dst);
  /// dst[i] = f32(src[i] * scale[i]) + bias[i], two roundings: batch norm with the channel innermost.
  void (*scaleShift)(const float *src, float *dst, int64_t n, const float *scale, const float *bias);
  /// The same with one scale and bias for the whole row.
  void (*scaleShiftOne)(const float *src, float *dst, int64_t n, float scale, float bias);
  /// dst = exp(src - max(src)) / sum, over n >= 1 consecutive values; dst may equal src.  NaN or +inf make the row NaN.
  void (*softmax)(const float *src, float *dst, int64_t n);
  /// dst = src - max(src) - log(sum exp(src - max(src))).
  void (*logSoftmax)(const float *src, float *dst, int64_t n);
  /// dst = (src - mean) * f32(1 / sqrt(var + eps)) * weight + bias over n >= 1 values, the biased variance; sums as `sum`, mean and variance
  /// divided in double, each written operation rounded to f32.  weight and bias may be null (1 and 0); dst may equal src.
  void (*layerNorm)(const float *src, float *dst, int64_t n, const float *weight, const float *bias, double eps);
};

/// \returns the rows for `isa`; ask once and keep the reference.
const ReduceKernels &selectReduce(Isa isa = getCurrentIsa());

/// Sums (or means, if mean) of src [outer, reduced, inner] over the middle -> dst [outer, inner], for outer rows
/// [begin, end).  Mean divides the double sum by `reduced` before rounding; reduced = 0 gives 0, or NaN for a mean.
void reduceMiddle(const ReduceKernels &kernels, const float *src, float *dst, int64_t reduced, int64_t inner, bool mean,
                  int64_t begin, int64_t end);

/// Softmax of src [outer, n, inner] over the middle, for outer rows [begin, end); logarithm if `log`.
/// Rows with inner != 1 are gathered through `scratch`, f32 [n]; may be null if inner == 1.
void softmaxMiddle(const ReduceKernels &kernels, const float *src, float *dst, int64_t n, int64_t inner, bool log,
                   int64_t begin, int64_t end, float *scratch);

/// Folds eval-mode batch norm into scale and bias per channel, as PyTorch's CPU kernel does:
/// scale = weight * f32(1 / sqrt(var + f32(eps))), bias' = bias - mean * scale.  weight, bias may be null (1 and 0).
void foldBatchNorm(int64_t channels, const float *weight, const float *bias, const float *mean, const float *var,
                   float eps, float *scale, float *shift);

} // namespace qfx::kernels

#endif // KERNELS_REDUCE_REDUCE_H
