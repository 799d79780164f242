// Fake-quantizers seen as observers: an inner observer, flags, and the parameters that the last batch gave (numerics 4).
#include "backends/observe/BuffersDetail.h"
#include "backends/observe/ChooseQuantizationParams.h"
#include "backends/observe/FakeQuantizeDetail.h"
#include "backends/observe/ObserverRowsDetail.h"
#include "backends/observe/ObserverSettings.h"
#include "backends/observe/PerChannelMinMaxDetail.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"

#include <cmath>

namespace qfx {

static constexpr llvm::StringLiteral kInner = "activation_post_process";

ModuleRef getInnerObserver(const Module &fakeQuantize) {
  ModuleRef inner = fakeQuantize.findChild(kInner);
  assert(inner && isObserver(*inner) && "a fake-quantizer without its observer");
  return inner;
}

bool isEnabled(const Module &module, llvm::StringRef flag) {
  return module.getTensor(flag).getElementAsDouble(0) == 1;
}

/// [quant_min, quant_max] of the constructor must lie in the storage range of the observer's dtype (iinfo, so 0..255 for quint4x2).
static llvm::Error checkBounds(const Module &module, const Module &inner) {
  const Argument *low = module.findAttribute("quant_min"), *high = module.findAttribute("quant_max");
  if (!low || !low->isInt() || !high || !high->isInt())
    return llvm::Error::success();
  llvm::StringRef name = module.getClass()->getBaseName();
  const DTypeInfo &info = getDTypeInfo(toUnderlyingDType(getObserverDType(inner)));
  std::string range = std::to_string(low->getInt()) + ".." + std::to_string(high->getInt());
  if (low->getInt() > high->getInt())
    return error(module.getLoc(), "'{0}' needs quant_min at most quant_max, got {1}", name, range).code("observer_range");
  if (low->getInt() < info.codeMin || high->getInt() > info.codeMax)
    return error(module.getLoc(), "'{0}' has a range outside {1}: {2}", name, info.torchName, range).code("observer_range");
  return llvm::Error::success();
}

template <class T> static void setFlags(Module &module, DType dtype) {
  module.setBuffer("fake_quant_enabled", Tensor::of<T>(dtype, {1}, T(1)));
  module.setBuffer("observer_enabled", Tensor::of<T>(dtype, {1}, T(1)));
}

llvm::Error constructFakeQuantize(Module &module) {
  ModuleRef inner = getInnerObserver(module);
  if (llvm::Error err = checkBounds(module, *inner))
    return err;
  setFlags<uint8_t>(module, DType::UInt8);
  setVector(module, "scale", 1.0f);
  if (readObserverSettings(*inner).scheme == QScheme::PerChannelAffineFloatQParams)
    setVector(module, "zero_point", 0.0f);
  else
    module.setBuffer("zero_point", Tensor::of<int32_t>(DType::Int32, {1}, 0));
  return llvm::Error::success();
}

llvm::Error constructFused(Module &module) {
  llvm::StringRef inner = getInnerObserver(module)->getClass()->getBaseName();
  if (inner != "MovingAverageMinMaxObserver" && inner != "MovingAveragePerChannelMinMaxObserver")
    return error(module.getLoc(), "'FusedMovingAvgObsFakeQuantize' needs a moving-average observer, got '{0}'", inner)
        .code("observer_fused");
  if (llvm::Error err = constructFakeQuantize(module))
    return err;
  setFlags<int64_t>(module, DType::Int64);
  return llvm::Error::success();
}

llvm::Error constructFixedFakeQuantize(Module &module) {
  ModuleRef inner = getInnerObserver(module);
  if (inner->getClass()->getBaseName() != "FixedQParamsObserver")
    return error(module.getLoc(), "'FixedQParamsFakeQuantize' needs a FixedQParamsObserver, got '{0}'",
                 inner->getClass()->getBaseName())
        .code("observer_fixed");
  if (isPerChannel(readObserverSettings(*inner).scheme))
    return error(module.getLoc(), "'FixedQParamsFakeQuantize' needs a per-tensor qscheme").code("observer_qscheme");
  setFlags<uint8_t>(module, DType::UInt8);
  module.setBuffer("scale", inner->getTensor("scale"));
  module.setBuffer("zero_point", inner->getTensor("zero_point"));
  return llvm::Error::success();
}

llvm::Expected<QParams> calculateOfInner(const Module &module) { return calculateQParams(*getInnerObserver(module)); }
bool hasInnerObserved(const Module &module) { return hasObserved(*getInnerObserver(module)); }

/// The scale and zero_point buffers as the inner observer has them now.
static llvm::Error storeInnerQParams(Module &module) {
  llvm::Expected<QParams> qparams = calculateQParams(*getInnerObserver(module));
  if (!qparams)
    return qparams.takeError();
  setVector(module, "scale", qparams->scales);
  if (!qparams->floatZeroPoints.empty()) {
    setVector(module, "zero_point", qparams->floatZeroPoints);
    return llvm::Error::success();
  }
  std::vector<int32_t> zeroPoints(qparams->zeroPoints.begin(), qparams->zeroPoints.end());
  module.setBuffer("zero_point", Tensor::of<int32_t>(DType::Int32, {static_cast<int64_t>(zeroPoints.size())}, zeroPoints));
  return llvm::Error::success();
}

llvm::Error observeFakeQuantize(Module &module, const ObservedTensor &input) {
  if (!isEnabled(module, "observer_enabled"))
    return llvm::Error::success();
  if (llvm::Error err = observe(*getInnerObserver(module), input))
    return err;
  return storeInnerQParams(module);
}

llvm::Error mergeFakeQuantize(Module &module, const Module &other) {
  if (llvm::Error err = mergeObserver(*getInnerObserver(module), *getInnerObserver(other)))
    return err;
  return storeInnerQParams(module);
}

/// numerics 4.5 step 3: an infinite running value is replaced, min and max independently.
static float averageFused(float running, float current, float constant) {
  return std::isinf(running) ? current : running + constant * (current - running);
}

static llvm::Error updateFusedStatistics(Module &inner, const ObservedTensor &input, const ObserverSettings &settings) {
  const float constant = static_cast<float>(settings.averagingConstant);
  if (!isPerChannel(settings.scheme)) {
    kernels::MinMax now = input.getRange();
    setScalar(inner, "min_val", averageFused(getFirst(inner, "min_val"), now.min, constant));
    setScalar(inner, "max_val", averageFused(getFirst(inner, "max_val"), now.max, constant));
    return llvm::Error::success();
  }
  llvm::Expected<ChannelMinMax> now = findChannelMinMax(inner, input, settings.axis);
  if (!now)
    return now.takeError();
  llvm::ArrayRef<float> low = getFloats(inner, "min_val"), high = getFloats(inner, "max_val");
  if (!low.empty() && low.size() != now->mins.size())
    return error(inner.getLoc(), "an observer of {0} channels got a tensor with {1}", std::to_string(low.size()),
                 std::to_string(now->mins.size()))
        .code("observer_channels");
  for (size_t c = 0; c < low.size(); ++c) {
    now->mins[c] = averageFused(low[c], now->mins[c], constant);
    now->maxs[c] = averageFused(high[c], now->maxs[c], constant);
  }
  setVector(inner, "min_val", now->mins);
  setVector(inner, "max_val", now->maxs);
  return llvm::Error::success();
}

llvm::Expected<FusedQParams> chooseFusedQParams(const Module &module) {
  ModuleRef inner = getInnerObserver(module);
  ObserverSettings settings = readObserverSettings(*inner);
  llvm::ArrayRef<float> low = getFloats(*inner, "min_val"), high = getFloats(*inner, "max_val");
  if (low.empty() || low.size() != high.size())
    return error(module.getLoc(), "'FusedMovingAvgObsFakeQuantize' has seen no data and cannot choose its parameters").code("qparams_range");
  FusedQParams qparams;
  ChooseOptions options;
  options.preserveSparsity = isSymmetric(settings.scheme);
  for (size_t c = 0; c < low.size(); ++c) {
    llvm::Expected<ChosenQParams> chosen = chooseQuantizationParams(
        low[c], high[c], static_cast<int32_t>(settings.quantMin), static_cast<int32_t>(settings.quantMax), options);
    if (!chosen)
      return chosen.takeError();
    qparams.scales.push_back(static_cast<float>(chosen->scale));
    qparams.zeroPoints.push_back(chosen->zeroPoint);
  }
  return qparams;
}

llvm::Error observeFused(Module &module, const ObservedTensor &input) {
  if (input.getNumElements() == 0)
    return llvm::Error::success();
  ModuleRef inner = getInnerObserver(module);
  if (isEnabled(module, "observer_enabled")) {
    llvm::Error err = updateFusedStatistics(*inner, input, readObserverSettings(*inner));
    countNonFinite(*inner, input);
    if (err)
      return err;
  }
  if (!isEnabled(module, "fake_quant_enabled"))
    return llvm::Error::success();
  llvm::Expected<FusedQParams> qparams = chooseFusedQParams(module);
  if (!qparams)
    return qparams.takeError();
  int64_t size = static_cast<int64_t>(qparams->scales.size());
  setVector(module, "scale", qparams->scales);
  module.setBuffer("zero_point", Tensor::of<int32_t>(DType::Int32, size, qparams->zeroPoints));
  return llvm::Error::success();
}

} // namespace qfx
