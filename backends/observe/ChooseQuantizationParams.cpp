// ATen's ChooseQuantizationParams (numerics 2.6), step by step.
#include "backends/observe/ChooseQuantizationParams.h"

#include "ir/Diagnostics.h"
#include "ir/Text.h"

#include <cmath>

namespace qfx {

/// Step 7.
static double roundToPowerOfTwo(double scale) {
  if (scale < 1)
    return 1.0 / std::ldexp(1.0, static_cast<int>(std::floor(std::log2(1.0 / scale))));
  return std::ldexp(1.0, static_cast<int>(std::ceil(std::log2(scale))));
}

llvm::Expected<ChosenQParams> chooseQuantizationParams(float min, float max, int32_t qmin, int32_t qmax,
                                                       ChooseOptions options) {
  if (!(min <= max) || std::isinf(min) || std::isinf(max))
    return error(Location(), "quantization parameters need a finite range, got {0}..{1}", formatFloat(min), formatFloat(max))
        .code("qparams_range");
  if (options.reduceRange) {
    qmin /= 2;
    qmax /= 2;
  }
  if (min < 0 && max > 0 && options.preserveSparsity) {
    int symmetricMin = -((qmax - qmin) / 2 + 1), symmetricMax = (qmax - qmin) / 2;
    double maxScale = std::max(std::fabs(min / static_cast<float>(symmetricMin)), std::fabs(max / static_cast<float>(symmetricMax)));
    min = static_cast<float>(maxScale * symmetricMin);
    max = static_cast<float>(maxScale * symmetricMax);
  }
  min = std::min(min, 0.0f);
  max = std::max(max, 0.0f);
  if (qmin >= qmax)
    return error(Location(), "quantization parameters need codes in ascending order, got {0}..{1}", std::to_string(qmin),
                 std::to_string(qmax))
        .code("qparams_range");
  const double levels = qmax - qmin;
  double scale = (static_cast<double>(max) - min) / levels;
  if (static_cast<float>(scale) == 0.0f || std::isinf(1.0f / static_cast<float>(scale)))
    scale = 0.1;
  if (options.forceScalePowerOfTwo)
    scale = roundToPowerOfTwo(scale);
  constexpr float kSmallest = 6.1e-5f;
  if (scale < kSmallest) {
    float original = static_cast<float>(scale);
    scale = kSmallest;
    float reach = kSmallest * static_cast<float>(qmax - qmin);
    if (min == 0.0f) {
      max = reach;
    } else if (max == 0.0f) {
      min = -reach;
    } else {
      float amplifier = kSmallest / original;
      min *= amplifier;
      max *= amplifier;
    }
  }
  double fromMin = qmin - min / scale, fromMax = qmax - max / scale;
  double errorFromMin = std::abs(qmin) - std::fabs(min / scale), errorFromMax = std::abs(qmax) - std::fabs(max / scale);
  double zeroPoint = errorFromMin < errorFromMax ? fromMin : fromMax;
  if (min < 0 && max > 0 && options.preserveSparsity)
    zeroPoint = (static_cast<double>(qmin) + qmax) / 2.0;
  int32_t nudged = zeroPoint < qmin   ? qmin
                   : zeroPoint > qmax ? qmax
                                      : static_cast<int32_t>(std::nearbyint(zeroPoint));
  return ChosenQParams{scale, nudged};
}

} // namespace qfx
