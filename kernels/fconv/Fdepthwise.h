// Float depthwise convolution: one output channel per input channel.
#ifndef KERNELS_FCONV_FDEPTHWISE_H
#define KERNELS_FCONV_FDEPTHWISE_H

#include "kernels/fconv/Fconv.h"
#include "kernels/isa/Isa.h"

#include <cstdint>

namespace qfx::kernels {

/// Whether fdepthwise takes this shape (groups = inChannels = outChannels); fconv takes every shape.
bool isFdepthwise(const ConvShape &shape);

/// f32 elements of the packed weight [taps, channels].
int64_t getFdepthwisePackedSize(const ConvShape &shape);

/// Packs PyTorch's weight [channels, 1, kD, kH, kW].
void packFdepthwise(const ConvShape &shape, const float *weight, float *packed);

/// Rows of one instruction set: `pixels` (1 or 2) outputs from taps pointers each ([pixel][tap]), dst pixels dstStride
/// apart; dst = clamp(bias + fma chain over taps).  bias is never null here.
struct FdepthwiseKernels {
  void (*run)(int64_t taps, int64_t channels, const float *const *pointers, int pixels, const float *weight,
              const float *bias, float lo, float hi, float *dst, int64_t dstStride);
};

/// \returns the rows for `isa`; ask once and keep the reference.
const FdepthwiseKernels &selectFdepthwise(Isa isa = getCurrentIsa());

/// Bytes of scratch for one call (one per thread), 64-byte aligned.
int64_t getFdepthwiseScratchBytes(const ConvShape &shape);

/// Computes output pixels [begin, end); the same sums in the same order as fconv, so the same bits.
void fdepthwise(const FdepthwiseKernels &kernels, const ConvShape &shape, const ConvSizes &sizes, const FconvArgs &args,
                int64_t begin, int64_t end, void *scratch);

} // namespace qfx::kernels

#endif // KERNELS_FCONV_FDEPTHWISE_H
