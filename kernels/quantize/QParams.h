// The two numbers of an affine quantization: real = scale * (code - zeroPoint).
#ifndef KERNELS_QUANTIZE_QPARAMS_H
#define KERNELS_QUANTIZE_QPARAMS_H

#include <cstdint>

namespace qfx::kernels {

/// `scale` is kept in double as a quantizer stores it; kernels narrow it to f32 first (operators.md section 1).
struct QParams {
  double scale = 1.0;
  int32_t zeroPoint = 0; // within the code type's range
};

/// The value range of an 8-bit code type.
template <class T> struct CodeRange {
  static constexpr int32_t lo = static_cast<T>(-1) < static_cast<T>(0) ? -128 : 0;
  static constexpr int32_t hi = lo + 255;
};

} // namespace qfx::kernels

#endif // KERNELS_QUANTIZE_QPARAMS_H
