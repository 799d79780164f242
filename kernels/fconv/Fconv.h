// Float convolution in one to three dimensions on channels-innermost tensors, as a matrix product over gathered rows.
#ifndef KERNELS_FCONV_FCONV_H
#define KERNELS_FCONV_FCONV_H

#include "kernels/conv/ConvShape.h"
#include "kernels/sgemm/Sgemm.h"

#include <cstdint>

namespace qfx::kernels {

/// f32 elements of the packed weight: per group, panels over K = (tap, channel).
int64_t getFconvPackedSize(const SgemmKernel &kernel, const ConvShape &shape);

/// Packs PyTorch's weight [outChannels, inChannels / groups, kD, kH, kW] (dense, row-major).
void packFconv(const SgemmKernel &kernel, const ConvShape &shape, const float *weight, float *packed);

/// One run of a convolution: dst pixel = clamp(bias + sum over taps (d, h, w), then channels, of src * weight), a
/// single fma chain per output in that order; padded taps multiply zeros.  Bits depend neither on the instruction set
/// nor on the split.  Accuracy T2.
struct FconvArgs {
  const float *src; // [batch, in..., inChannels], pixel i at src + i * srcStride
  int64_t srcStride;
  const float *packed;          // by packFconv (or packFdepthwise) with the same kernel
  const float *bias;            // [outChannels] or null
  float lo = -__builtin_inff(); // fused activation: min(max(y, lo), hi), NaN passing through
  float hi = __builtin_inff();
  float *dst; // [batch, out..., outChannels], pixel i at dst + i * dstStride; no overlap with src
  int64_t dstStride;
};

/// Bytes of scratch for one call of fconv (one per thread), to be 64-byte aligned.
int64_t getFconvScratchBytes(const SgemmKernel &kernel, const ConvShape &shape);

/// Computes output pixels [begin, end) of sizes.outPixels(), in (n, d, h, w) order.
void fconv(const SgemmKernel &kernel, const ConvShape &shape, const ConvSizes &sizes, const FconvArgs &args,
           int64_t begin, int64_t end, void *scratch);

} // namespace qfx::kernels

#endif // KERNELS_FCONV_FCONV_H
