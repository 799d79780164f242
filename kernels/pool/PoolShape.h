// The geometry of a pooling: windows over up to three spatial dimensions of a channels-innermost tensor.
#ifndef KERNELS_POOL_POOLSHAPE_H
#define KERNELS_POOL_POOLSHAPE_H

#include <cstdint>

namespace qfx::kernels {

/// Sizes of one pooling.  src is [batch, in..., channels], dst [batch, out..., channels], both dense; lower ranks leave
/// leading spatial dimensions at 1 (kernel 1, stride 1).
struct PoolShape {
  int64_t batch = 1, channels = 1;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  bool adaptive = false;       // windows follow from in and out alone; kernel, stride, padding are not read
  bool countIncludePad = true; // avg: padded positions count in the divisor
  int64_t divisorOverride = 0; // avg: the divisor, if not 0

  int64_t numOutputPixels() const { return batch * out[0] * out[1] * out[2]; }
  int64_t numInputPixels() const { return in[0] * in[1] * in[2]; } // of one image
};

/// The taps of one output along one dimension: positions start + j * step, j in [0, count), all inside the input.
struct PoolWindow {
  int64_t start = 0, count = 1, step = 1;
  int64_t padded = 1; // extent before clipping to the input, of at most the padded input: the pad-including divisor
};

/// \returns output size along one dimension: floor or ceil((in + 2*padding - dilation*(kernel-1) - 1) / stride) + 1; in
/// ceil mode a last window starting at or beyond in + padding is dropped.  May be <= 0: the caller reports that.
int64_t getPooledSize(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceilMode);

/// The window of output index `i` along dimension `dim`.  Adaptive: [floor(f32(i*in)/out), ceil(f32((i+1)*in)/out)) in
/// binary32 (operators.md 8.2).  count may be 0 only where padding exceeds what PyTorch allows.
PoolWindow getPoolWindow(const PoolShape &shape, int dim, int64_t i);

} // namespace qfx::kernels

#endif // KERNELS_POOL_POOLSHAPE_H
