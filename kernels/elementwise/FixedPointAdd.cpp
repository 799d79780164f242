// The fixed-point rule of qnnpack's add, one element at a time.
#include "kernels/elementwise/FixedPointAdd.h"

#include <algorithm>
#include <cmath>

namespace qfx::kernels {

std::optional<FixedPointAddParams> makeFixedPointAddParams(const QParams &a, const QParams &b, const QParams &out,
                                                           bool relu) {
  const float outScale = static_cast<float>(out.scale);
  const float ratioA = static_cast<float>(a.scale) / outScale, ratioB = static_cast<float>(b.scale) / outScale;
  for (float ratio : {ratioA, ratioB})
    if (!(ratio >= 0x1p-14f && ratio < 0x1p8f))
      return std::nullopt;
  FixedPointAddParams params;
  const int exponent = std::ilogb(std::max(ratioA, ratioB));
  params.shift = 21 - exponent;
  params.multiplierA = static_cast<int32_t>(std::lrint(std::ldexp(ratioA, params.shift)));
  params.multiplierB = static_cast<int32_t>(std::lrint(std::ldexp(ratioB, params.shift)));
  params.offset = -(params.multiplierA * a.zeroPoint + params.multiplierB * b.zeroPoint);
  params.zeroPoint = out.zeroPoint;
  params.low = relu ? out.zeroPoint : 0;
  return params;
}

void addFixedPoint(const uint8_t *a, const uint8_t *b, uint8_t *dst, int64_t n, const FixedPointAddParams &params) {
  const auto mask = static_cast<int32_t>((int64_t(1) << params.shift) - 1), threshold = mask >> 1;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t sum = params.offset + a[i] * params.multiplierA + b[i] * params.multiplierB;
    const int32_t remainder = (sum & mask) - (sum < 0 ? 1 : 0);
    const int32_t steps = (sum >> params.shift) + (remainder > threshold ? 1 : 0);
    dst[i] = static_cast<uint8_t>(std::clamp(steps + params.zeroPoint, params.low, 255));
  }
}

} // namespace qfx::kernels
