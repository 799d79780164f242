// Batch norm from codes to codes, per channel.
#ifndef KERNELS_ELEMENTWISE_QUANTIZEDBATCHNORM_H
#define KERNELS_ELEMENTWISE_QUANTIZEDBATCHNORM_H

#include "kernels/isa/Isa.h"
#include "kernels/quantize/QParams.h"

#include <cstdint>

namespace qfx::kernels {

/// Folds statistics, affine parameters and both quantizations into alpha and beta per channel (operators.md 9.1):
///   is = f32(1.0 / sqrtf(var + eps)),  alpha = f32(double(f32(is * weight)) * (sx / sy)),
///   beta = f32(double(f32(bias - f32(f32(mean * is) * weight))) / sy).
/// \param weight,bias,mean,var  f32 [channels].
void foldQuantizedBatchNorm(int64_t channels, const float *weight, const float *bias, const float *mean,
                            const float *var, float eps, const QParams &in, const QParams &out, float *alpha,
                            float *beta);

/// What a row needs beside alpha and beta.
struct QuantizedBatchNormParams {
  int32_t zeroPointIn, zeroPointOut;
  bool relu; // lower bound zeroPointOut instead of the type's
};

/// Rows of one instruction set, channel innermost: dst[c] = clamp(RNE(fma(alpha[c], f32(src[c] - zeroPointIn),
/// beta[c]))
/// + zeroPointOut).  dst may equal src.  Results do not depend on the instruction set.
struct QuantizedBatchNormKernels {
  void (*rowU8)(const uint8_t *src, uint8_t *dst, int64_t channels, const float *alpha, const float *beta,
                const QuantizedBatchNormParams &params);
  void (*rowS8)(const int8_t *src, int8_t *dst, int64_t channels, const float *alpha, const float *beta,
                const QuantizedBatchNormParams &params);
};

/// \returns the rows for `isa`; ask once and keep the reference.
const QuantizedBatchNormKernels &selectQuantizedBatchNorm(Isa isa = getCurrentIsa());

} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_QUANTIZEDBATCHNORM_H
