// Fake quantization: real numbers moved onto the grid of codes, and which of them let a gradient pass.
#ifndef KERNELS_FAKE_QUANTIZE_FAKEQUANTIZE_H
#define KERNELS_FAKE_QUANTIZE_FAKEQUANTIZE_H

#include "kernels/isa/Isa.h"

#include <cstdint>

namespace qfx::kernels {

/// Scale > 0 in real units per step; codes quantMin..quantMax.  Magnitudes of zeroPoint and bounds below 2^23, so that f32 holds every
/// code and difference exactly.
struct FakeQuantizeParams {
  float scale = 1;
  int32_t zeroPoint = 0;
  int32_t quantMin = 0, quantMax = 255;
};

/// Rows of one instruction set; results do not depend on it.  n >= 0 consecutive elements.
///   t = f32(zeroPoint + RNE(f32(x * f32(1 / scale)))),  value = f32((clamp(t, quantMin, quantMax) - zeroPoint) * scale)
/// NaN gives quantMin's value.  Source: numerics 4.3, ATen/native/quantized/cpu/kernels/QuantizedOpKernels.cpp.
struct FakeQuantizeKernels {
  /// dst may equal src.
  void (*fakeQuantize)(const float *src, float *dst, int64_t n, const FakeQuantizeParams &params);
  /// mask[i] = 1 where quantMin <= t <= quantMax, else 0 (NaN: 0).
  void (*fakeQuantizeMask)(const float *src, uint8_t *mask, int64_t n, const FakeQuantizeParams &params);
};

/// \returns the rows for `isa`; ask once and keep the reference.
const FakeQuantizeKernels &selectFakeQuantize(Isa isa = getCurrentIsa());

/// One element with bounds and zero point of any int32 size: the clamp is taken in double, the difference in int64, as PyTorch does.
/// \param inMask  set to whether a gradient passes.
float fakeQuantizeWide(float value, const FakeQuantizeParams &params, bool &inMask);

/// One element whose zero point is a float (numerics 4.4): q = clamp(lrint(fma(x, 1 / scale, zeroPoint))), value = (q - zeroPoint) * scale
/// in double, rounded once.
float fakeQuantizeFloatZeroPoint(float value, float scale, float zeroPoint, int32_t quantMin, int32_t quantMax, bool &inMask);

} // namespace qfx::kernels

#endif // KERNELS_FAKE_QUANTIZE_FAKEQUANTIZE_H
