// Bilinear resizing of codes: four pixels with their channels innermost make one.
#ifndef KERNELS_RESIZE_BILINEAR_H
#define KERNELS_RESIZE_BILINEAR_H

#include "kernels/isa/Isa.h"

#include <cstdint>

namespace qfx::kernels {

/// Where one output coordinate reads along an axis: pixels `first` and `second` with weights w0 and w1 = 1 - w0.
struct ResizeSource {
  int64_t first, second;
  float w0, w1;
};

/// Source of output index `i` (operators.md 8.4): x = align ? ratio * i : max(ratio * (i + 0.5) - 0.5, 0) in binary32.
ResizeSource getBilinearSource(int64_t i, int64_t inSize, float ratio, bool alignCorners);

/// min(floor(i * ratio), inSize - 1); `exact` takes i + 0.5.
int64_t getNearestSource(int64_t i, int64_t inSize, float ratio, bool exact);

/// The four pixels of an output pixel and their weights.
template <class T> struct BilinearPixels {
  const T *p00, *p01, *p10, *p11;
  float h0, h1, w0, w1;
};

struct BilinearKernels {
  /// dst[c] = clamp(RNE((h0 * (w0 p00 + w1 p01) + h1 * (w0 p10 + w1 p11) - z) + z)), every step rounded, on raw codes: the zero point stands
  /// inside the last rounding (PyTorch 2.13; operators 8.4 has it outside).
  void (*pixelU8)(const BilinearPixels<uint8_t> &src, int64_t channels, int32_t zeroPoint, uint8_t *dst);
  void (*pixelS8)(const BilinearPixels<int8_t> &src, int64_t channels, int32_t zeroPoint, int8_t *dst);
};

/// \returns the rows for `isa`; ask once and keep the reference.
const BilinearKernels &selectBilinear(Isa isa = getCurrentIsa());

} // namespace qfx::kernels

#endif // KERNELS_RESIZE_BILINEAR_H
