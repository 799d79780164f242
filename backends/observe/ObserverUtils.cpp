// torch.ao.quantization.utils on ranges and parameters.
#include "backends/observe/ObserverUtils.h"

#include "backends/observe/CalculateQParamsDetail.h"
#include "ir/Diagnostics.h"
#include "ir/Module.h"
#include "ir/Ops.h"

namespace qfx {

static int64_t floorHalf(int64_t value) { return value >= 0 ? value / 2 : -((1 - value) / 2); }

/// The range of a dtype when none is asked for.
static std::pair<int64_t, int64_t> getDefaultRange(DType dtype, bool reduceRange) {
  switch (dtype) {
  case DType::QInt8:
  case DType::Int8:
    return reduceRange ? std::pair<int64_t, int64_t>(-64, 63) : std::pair<int64_t, int64_t>(-128, 127);
  case DType::QUInt8:
  case DType::UInt8:
    return {0, reduceRange ? 127 : 255};
  case DType::QInt32:
  case DType::Int32:
  case DType::Int16:
  case DType::UInt16:
    return {getDTypeInfo(dtype).codeMin, getDTypeInfo(dtype).codeMax};
  default:
    return {0, 15}; // quint4x2, and float8 too, as upstream
  }
}

std::pair<int64_t, int64_t> getEffectiveRange(DType dtype, bool reduceRange, std::optional<int64_t> customMin,
                                              std::optional<int64_t> customMax) {
  if (!customMin || !customMax)
    return getDefaultRange(dtype, reduceRange);
  if (reduceRange)
    return {floorHalf(*customMin), floorHalf(*customMax)};
  return {*customMin, *customMax};
}

static std::string toText(int64_t low, int64_t high) { return std::to_string(low) + ".." + std::to_string(high); }

llvm::Error validateQMinQMax(int64_t quantMin, int64_t quantMax) {
  if (quantMin <= 0 && 0 <= quantMax && quantMin < quantMax)
    return llvm::Error::success();
  return error({}, "a range of codes needs 0 inside and quant_min below quant_max, got {0}", toText(quantMin, quantMax))
      .code("observer_range");
}

llvm::Expected<std::pair<int64_t, int64_t>> calculateQMinQMax(std::optional<int64_t> quantMin, std::optional<int64_t> quantMax,
                                                              bool hasCustomizedQRange, DType dtype, bool reduceRange) {
  if (!hasCustomizedQRange || !quantMin || !quantMax)
    return getDefaultRange(dtype, reduceRange);
  bool is8Bit = dtype == DType::QInt8 || dtype == DType::Int8, is32Bit = dtype == DType::QInt32 || dtype == DType::Int32;
  if (is8Bit || is32Bit) {
    // The unsigned difference is exact where quantMin <= quantMax.
    uint64_t limit = is8Bit ? 256 : uint64_t(1) << 32;
    uint64_t span = static_cast<uint64_t>(*quantMax) - static_cast<uint64_t>(*quantMin);
    if (*quantMax < *quantMin || span >= limit)
      return error({}, "{0} holds 1 to {1} codes, got the range {2}", getDTypeInfo(dtype).torchName, limit, toText(*quantMin, *quantMax))
          .code("observer_range");
  }
  return getEffectiveRange(dtype, reduceRange, quantMin, quantMax);
}

llvm::Expected<DeterminedQParams> determineQParams(llvm::ArrayRef<float> mins, llvm::ArrayRef<float> maxs, int64_t quantMin,
                                                   int64_t quantMax, DType dtype, float eps, bool hasCustomizedQRange, QScheme scheme) {
  ObserverSettings settings;
  // The function has no zero point of its own for uint16, unlike the observers.
  settings.dtype = dtype == DType::UInt16 ? DType::Int16 : dtype;
  settings.scheme = scheme;
  settings.quantMin = quantMin;
  settings.quantMax = quantMax;
  settings.hasCustomRange = hasCustomizedQRange;
  llvm::Expected<QParams> qparams = calculateFromRange({}, settings, eps, mins, maxs);
  if (!qparams)
    return qparams.takeError();
  DeterminedQParams result;
  result.scales.assign(qparams->scales.begin(), qparams->scales.end());
  result.zeroPoints = qparams->zeroPoints;
  for (float zeroPoint : qparams->floatZeroPoints)
    result.zeroPoints.push_back(static_cast<int64_t>(zeroPoint));
  return result;
}

/// The scheme under which tensors are quantized for an observer's scheme.
static QScheme toTensorScheme(QScheme scheme) {
  return scheme == QScheme::PerTensorSymmetric    ? QScheme::PerTensorAffine
         : scheme == QScheme::PerChannelSymmetric ? QScheme::PerChannelAffine
                                                  : scheme;
}

llvm::Expected<QParamDict> getQParamDict(const Module &observer) {
  QParamDict dict;
  dict.dtype = getObserverDType(observer);
  ModuleRef inner = observer.findChild("activation_post_process");
  const Module &settled = inner ? *inner : observer;
  if (settled.getClass()->getBaseName() == "PlaceholderObserver" || !settled.findAttribute("qscheme"))
    return dict;
  llvm::Expected<QParams> qparams = calculateQParams(observer);
  if (!qparams)
    return qparams.takeError();
  dict.scheme = toTensorScheme(qparams->scheme);
  if (isPerChannel(*dict.scheme))
    dict.axis = qparams->axis;
  dict.scales = qparams->scales;
  dict.zeroPoints = qparams->zeroPoints;
  dict.floatZeroPoints = qparams->floatZeroPoints;
  dict.quantMin = qparams->quantMin;
  dict.quantMax = qparams->quantMax;
  return dict;
}

} // namespace qfx
