// Layer, group and instance norm from codes to codes: statistics from exact integer sums, then an affine map.
#ifndef KERNELS_NORM_CODENORM_H
#define KERNELS_NORM_CODENORM_H

#include "kernels/isa/Isa.h"
#include "kernels/quantize/QParams.h"

#include <cstdint>

namespace qfx::kernels {

/// Exact sums over the codes of one group.
struct CodeSums {
  int64_t sum = 0, squares = 0;
};

/// What a group's codes are normalized with, in units of codes (operators.md 9.2).
struct NormStatistics {
  float mean; ///< of q - zeroPoint
  float rstd; ///< f32(s_x / sqrt(double(f32(f32(var * s_x) * s_x)) + eps))
};
NormStatistics makeNormStatistics(const CodeSums &sums, int64_t count, const QParams &params, double eps);

/// Sums over n codes.  T is uint8_t or int8_t.
template <class T> CodeSums sumCodes(const T *src, int64_t n);

/// Adds rows of `channels` codes into sums[channels].
template <class T> void sumCodeRows(const T *src, int64_t rows, int64_t channels, CodeSums *sums);

/// One row's parameters.  y = ((q - zeroPoint) - mean) * rstd * weight + bias, every step rounded, then QZ by `out`.
struct CodeNormParams {
  int32_t zeroPoint;
  QParams out;
};

/// Row functions of one instruction set, n >= 0 codes, dst may equal src; results do not depend on the set.
struct CodeNormKernels {
  /// One mean and rstd, a weight and a bias per element (layer norm).
  void (*layerU8)(const uint8_t *src, uint8_t *dst, int64_t n, const NormStatistics &statistics, const float *weight,
                  const float *bias, const CodeNormParams &params);
  void (*layerS8)(const int8_t *src, int8_t *dst, int64_t n, const NormStatistics &statistics, const float *weight,
                  const float *bias, const CodeNormParams &params);
  /// A mean, a gain (rstd * weight) and a bias per element: group norm with the channel innermost.
  void (*channelsU8)(const uint8_t *src, uint8_t *dst, int64_t n, const float *mean, const float *gain,
                     const float *bias, const CodeNormParams &params);
  void (*channelsS8)(const int8_t *src, int8_t *dst, int64_t n, const float *mean, const float *gain, const float *bias,
                     const CodeNormParams &params);
};

/// \returns the rows for `isa`; ask once and keep the reference.
const CodeNormKernels &selectCodeNorm(Isa isa = getCurrentIsa());

} // namespace qfx::kernels

#endif // KERNELS_NORM_CODENORM_H
