// Running and averaged minimum and maximum of whole tensors (numerics 3.3, 3.4).
#include "backends/observe/BuffersDetail.h"
#include "backends/observe/CalculateQParamsDetail.h"
#include "backends/observe/ObserverRowsDetail.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"

#include <cmath>

namespace qfx {

static llvm::Error constructPerTensor(Module &observer, bool allowsMemorylessDynamic) {
  ObserverSettings settings = readObserverSettings(observer);
  llvm::StringRef name = observer.getClass()->getBaseName();
  if (isPerChannel(settings.scheme))
    return error(observer.getLoc(), "'{0}' needs a per-tensor qscheme, got '{1}'", name, getQSchemeName(settings.scheme))
        .code("observer_qscheme");
  if (allowsMemorylessDynamic && settings.isDynamic && settings.averagingConstant != 1)
    return error(observer.getLoc(), "'{0}' can be dynamic only with averaging_constant 1", name).code("observer_dynamic");
  if (llvm::Error err = checkUniformSettings(observer, settings))
    return err;
  if (settings.scheme == QScheme::PerTensorSymmetric && settings.reduceRange && settings.dtype == DType::QUInt8)
    return error(observer.getLoc(), "'{0}' cannot reduce the range of symmetric quint8", name).code("observer_range");
  setVector(observer, "eps", static_cast<float>(*settings.eps));
  setScalar(observer, "min_val", INFINITY);
  setScalar(observer, "max_val", -INFINITY);
  return llvm::Error::success();
}

llvm::Error constructMinMax(Module &observer) { return constructPerTensor(observer, false); }
llvm::Error constructMovingAverage(Module &observer) { return constructPerTensor(observer, true); }

llvm::Error observeMinMax(Module &observer, const ObservedTensor &input) {
  if (input.getNumElements() == 0)
    return llvm::Error::success();
  kernels::MinMax current = input.getRange();
  float low = getFirst(observer, "min_val"), high = getFirst(observer, "max_val");
  // NaN in either sticks.
  setScalar(observer, "min_val", std::isnan(current.min) || current.min < low ? current.min : low);
  setScalar(observer, "max_val", std::isnan(current.max) || current.max > high ? current.max : high);
  return llvm::Error::success();
}

llvm::Error observeMovingAverage(Module &observer, const ObservedTensor &input) {
  if (input.getNumElements() == 0)
    return llvm::Error::success();
  kernels::MinMax current = input.getRange();
  float low = getFirst(observer, "min_val"), high = getFirst(observer, "max_val");
  const float constant = static_cast<float>(readObserverSettings(observer).averagingConstant);
  bool isFirst = low == INFINITY && high == -INFINITY;
  setScalar(observer, "min_val", isFirst ? current.min : low + constant * (current.min - low));
  setScalar(observer, "max_val", isFirst ? current.max : high + constant * (current.max - high));
  return llvm::Error::success();
}

llvm::Expected<QParams> calculateFromMinMax(const Module &observer) {
  return calculateFromRange(observer.getLoc(), readObserverSettings(observer), getFirst(observer, "eps"),
                            getFloats(observer, "min_val"), getFloats(observer, "max_val"));
}

bool hasMinMax(const Module &observer) {
  llvm::ArrayRef<float> low = getFloats(observer, "min_val"), high = getFloats(observer, "max_val");
  return !low.empty() && !high.empty() && !(low.size() == 1 && low[0] == INFINITY && high[0] == -INFINITY);
}

} // namespace qfx
