// Window arithmetic of pooling.
#include "kernels/pool/PoolShape.h"

#include <algorithm>
#include <cmath>

namespace qfx::kernels {

int64_t getPooledSize(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceilMode) {
  int64_t numerator = in + 2 * padding - dilation * (kernel - 1) - 1 + (ceilMode ? stride - 1 : 0);
  int64_t out = (numerator >= 0 ? numerator / stride : -((-numerator + stride - 1) / stride)) + 1;
  if (ceilMode && (out - 1) * stride >= in + padding)
    --out;
  return out;
}

PoolWindow getPoolWindow(const PoolShape &shape, int dim, int64_t i) {
  const int64_t in = shape.in[dim];
  PoolWindow window;
  if (shape.adaptive) {
    const float out = static_cast<float>(shape.out[dim]);
    window.start = static_cast<int64_t>(std::floor(static_cast<float>(i * in) / out));
    int64_t end = static_cast<int64_t>(std::ceil(static_cast<float>((i + 1) * in) / out));
    window.count = window.padded = std::min(end, in) - window.start;
    return window;
  }
  const int64_t dilation = shape.dilation[dim];
  int64_t first = i * shape.stride[dim] - shape.padding[dim];
  int64_t last = std::min(first + dilation * (shape.kernel[dim] - 1), in + shape.padding[dim] - 1);
  window.step = dilation;
  window.padded = (last - first) / dilation + 1;
  if (first < 0)
    first += (-first + dilation - 1) / dilation * dilation;
  last = std::min(last, in - 1);
  window.start = first;
  window.count = last < first ? 0 : (last - first) / dilation + 1;
  return window;
}

} // namespace qfx::kernels
