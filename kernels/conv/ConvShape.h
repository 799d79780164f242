// The geometry of a convolution of up to three spatial axes on channels-last data.
#ifndef KERNELS_CONV_CONVSHAPE_H
#define KERNELS_CONV_CONVSHAPE_H

#include <cstdint>

namespace qfx::kernels {

/// Spatial axes in order depth, height, width; a 1-d or 2-d convolution leaves the leading axes at their defaults.
struct ConvShape {
  int64_t inChannels = 0, outChannels = 0, groups = 1;
  int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};

  int64_t groupInChannels() const { return inChannels / groups; }
  int64_t groupOutChannels() const { return outChannels / groups; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// K: products per output.
  int64_t reduction() const { return taps() * groupInChannels(); }
  /// floor((in + 2 padding - dilation (kernel - 1) - 1) / stride) + 1; may be <= 0 for an input too small.
  int64_t outSize(int axis, int64_t in) const {
    int64_t span = in + 2 * padding[axis] - dilation[axis] * (kernel[axis] - 1) - 1;
    return (span < 0 ? -((-span + stride[axis] - 1) / stride[axis]) : span / stride[axis]) + 1;
  }
  /// Every input channel makes its own output channels, and there is more than one.
  bool isDepthwise() const { return groups == inChannels && groups > 1; }
  /// One tap, no stride, no padding, one group: a matrix product on the pixels as they lie.
  bool isPointwise() const {
    for (int axis = 0; axis < 3; ++axis)
      if (kernel[axis] != 1 || stride[axis] != 1 || padding[axis] != 0)
        return false;
    return groups == 1;
  }
};

/// Batch and spatial sizes of one run.
struct ConvSizes {
  int64_t batch = 1;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};

  ConvSizes() = default;
  ConvSizes(const ConvShape &shape, int64_t batch, const int64_t (&inSizes)[3]) : batch(batch) {
    for (int axis = 0; axis < 3; ++axis) {
      in[axis] = inSizes[axis];
      out[axis] = shape.outSize(axis, inSizes[axis]);
    }
  }
  int64_t outPixels() const { return batch * out[0] * out[1] * out[2]; }
};

} // namespace qfx::kernels

#endif // KERNELS_CONV_CONVSHAPE_H
