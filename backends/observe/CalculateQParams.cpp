// The core formula of numerics 2.4, elementwise over channels, float32 after every operation.
#include "backends/observe/CalculateQParamsDetail.h"
#include "backends/observe/NanMinMax.h"
#include "backends/observe/ObserverUtils.h"
#include "ir/Diagnostics.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace qfx {

/// What x86 conversion gives: NaN and out-of-range values become INT32_MIN.
static int32_t toInt32(float value) {
  if (!(value >= -2147483648.0f && value < 2147483648.0f))
    return INT32_MIN;
  return static_cast<int32_t>(value);
}

static int64_t getSymmetricZeroPoint(const ObserverSettings &settings) {
  if (settings.dtype == DType::QUInt8 || settings.dtype == DType::UInt8) {
    int64_t sum = settings.quantMin + settings.quantMax;
    return settings.hasCustomRange ? (sum >= 0 ? sum / 2 : -((1 - sum) / 2)) : 128;
  }
  return settings.dtype == DType::UInt16 ? 32768 : 0;
}

static int64_t getAffineZeroPoint(const ObserverSettings &settings, float negative, float scale) {
  int32_t steps = toInt32(std::nearbyint(negative / scale));
  // int32 arithmetic with wraparound, as tensors do it.
  int64_t zeroPoint = static_cast<int32_t>(static_cast<uint32_t>(settings.quantMin) - static_cast<uint32_t>(steps));
  return std::min(std::max(zeroPoint, settings.quantMin), settings.quantMax);
}

llvm::Expected<bool> checkMinMaxValid(llvm::ArrayRef<float> mins, llvm::ArrayRef<float> maxs, bool isScalar) {
  if (mins.empty() || maxs.empty() || (isScalar && mins[0] == INFINITY && maxs[0] == -INFINITY))
    return false;
  for (auto [low, high] : llvm::zip(mins, maxs))
    if (low > high)
      return error({}, "an observer's min_val {0} is above its max_val {1}", formatFloat(low), formatFloat(high))
          .code("observer_minmax");
  return true;
}

static llvm::Error atPlace(llvm::Error err, const Location &loc) {
  std::vector<Diagnostic> diagnostics = takeDiagnostics(std::move(err));
  for (Diagnostic &diagnostic : diagnostics)
    diagnostic.loc = loc;
  return llvm::make_error<InputError>(std::move(diagnostics));
}

llvm::Expected<QParams> calculateFromRange(const Location &loc, const ObserverSettings &settings, float eps,
                                           llvm::ArrayRef<float> mins, llvm::ArrayRef<float> maxs) {
  QParams qparams;
  qparams.dtype = settings.dtype;
  qparams.scheme = settings.scheme;
  qparams.axis = settings.axis;
  qparams.quantMin = settings.quantMin;
  qparams.quantMax = settings.quantMax;
  bool hasFloatZeroPoint = settings.scheme == QScheme::PerChannelAffineFloatQParams;
  llvm::Expected<bool> sawData = checkMinMaxValid(mins, maxs, /*isScalar=*/!isPerChannel(settings.scheme));
  if (!sawData)
    return atPlace(sawData.takeError(), loc);
  if (!*sawData) {
    qparams.scales = {1.0f};
    if (hasFloatZeroPoint)
      qparams.floatZeroPoints = {0.0f};
    else
      qparams.zeroPoints = {0};
    return qparams;
  }
  const float levels = static_cast<float>(settings.quantMax - settings.quantMin);
  const float halfLevels = static_cast<float>(static_cast<double>(settings.quantMax - settings.quantMin) / 2);
  for (size_t i = 0; i < mins.size(); ++i) {
    float negative = minNan(mins[i], 0.0f), positive = maxNan(maxs[i], 0.0f);
    if (isSymmetric(settings.scheme)) {
      qparams.scales.push_back(maxNan(maxNan(-negative, positive) / halfLevels, eps));
      qparams.zeroPoints.push_back(getSymmetricZeroPoint(settings));
    } else if (hasFloatZeroPoint) {
      float scale = (maxs[i] - mins[i]) / levels;
      scale = scale > eps ? scale : 1.0f;
      qparams.scales.push_back(scale);
      qparams.floatZeroPoints.push_back(-mins[i] / scale);
    } else {
      float scale = maxNan((positive - negative) / levels, eps);
      qparams.scales.push_back(scale);
      qparams.zeroPoints.push_back(getAffineZeroPoint(settings, negative, scale));
    }
  }
  return qparams;
}

} // namespace qfx
