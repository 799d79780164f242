// Quantized add and mul over rows of codes, with fused relu.
#ifndef KERNELS_ELEMENTWISE_QUANTIZEDBINARY_H
#define KERNELS_ELEMENTWISE_QUANTIZEDBINARY_H

#include "kernels/isa/Isa.h"
#include "kernels/quantize/QParams.h"

#include <cstdint>

namespace qfx::kernels {

/// Constants of quantized add: VDQ of both sides, then QZ (operators.md 3.1, 3.2, 6).
struct QuantizedAddParams {
  float scaleA, biasA; // x = fma(scaleA, q, biasA), biasA = -f32(scaleA * zeroPointA)
  float scaleB, biasB;
  float inv;         // f32(1 / f32(output scale))
  int32_t zeroPoint; // of the output
  bool relu;         // max(sum, 0) before quantizing
};
QuantizedAddParams makeQuantizedAddParams(const QParams &a, const QParams &b, const QParams &out, bool relu);

/// Constants of quantized mul: c = (qa - za) * (qb - zb), then RQI(c; multiplier, zeroPoint) (operators.md 3.4, 6).
struct QuantizedMulParams {
  int32_t zeroPointA, zeroPointB;
  float multiplier;  // f32(f32(f32(sa) * f32(sb)) * f32(1 / f32(so)))
  int32_t zeroPoint; // of the output
  bool relu;         // max(q, zeroPoint) afterwards
};
QuantizedMulParams makeQuantizedMulParams(const QParams &a, const QParams &b, const QParams &out, bool relu);

/// Row functions of one instruction set: dst[i] = f(a[i * aStep], b[i * bStep]) for i in [0, n), steps 0 or 1, all
/// three of the same code type.  dst may equal a or b exactly (step 1), otherwise no overlap.  Every element follows
/// the vector rule whatever its position (known_traps B75); results do not depend on the instruction set.
struct QuantizedBinaryKernels {
  void (*addU8)(const uint8_t *a, int aStep, const uint8_t *b, int bStep, uint8_t *dst, int64_t n,
                const QuantizedAddParams &params);
  void (*addS8)(const int8_t *a, int aStep, const int8_t *b, int bStep, int8_t *dst, int64_t n,
                const QuantizedAddParams &params);
  void (*mulU8)(const uint8_t *a, int aStep, const uint8_t *b, int bStep, uint8_t *dst, int64_t n,
                const QuantizedMulParams &params);
  void (*mulS8)(const int8_t *a, int aStep, const int8_t *b, int bStep, int8_t *dst, int64_t n,
                const QuantizedMulParams &params);
};

/// \returns the rows for `isa`; ask once and keep the reference.
const QuantizedBinaryKernels &selectQuantizedBinary(Isa isa = getCurrentIsa());

} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_QUANTIZEDBINARY_H
