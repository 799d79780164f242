// qnnpack's addition of codes: 22-bit integer multipliers and one rounding shift (operators.md 6).
#ifndef KERNELS_ELEMENTWISE_FIXEDPOINTADD_H
#define KERNELS_ELEMENTWISE_FIXEDPOINTADD_H

#include "kernels/quantize/QParams.h"

#include <cstdint>
#include <optional>

namespace qfx::kernels {

struct FixedPointAddParams {
  int32_t multiplierA, multiplierB; ///< s_a / s_o and s_b / s_o by a common power of two, rounded; below 2^22
  int32_t offset;                   ///< -(multiplierA * z_a + multiplierB * z_b)
  int shift;                        ///< 13..31
  int32_t zeroPoint, low;           ///< low: z_o with relu
};

/// None if a ratio of scales lies outside [2^-14, 2^8), which qnnpack refuses.
/// Source: QNNPACK requantization.h, pytorch_qnnp_compute_add_quantization_params.
std::optional<FixedPointAddParams> makeFixedPointAddParams(const QParams &a, const QParams &b, const QParams &out,
                                                           bool relu);

/// dst[i] = clamp(((offset + a[i] * multiplierA + b[i] * multiplierB) >> shift, rounded half away from zero) + z, low,
/// 255) for n >= 0 quint8 codes; dst may equal a or b.
void addFixedPoint(const uint8_t *a, const uint8_t *b, uint8_t *dst, int64_t n, const FixedPointAddParams &params);

} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_FIXEDPOINTADD_H
