// Observers without statistics: fixed parameters, placeholders, and the like (numerics 3.10).
#include "backends/observe/BuffersDetail.h"
#include "backends/observe/ObserverRowsDetail.h"
#include "backends/observe/ObserverSettings.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"

namespace qfx {

llvm::Error constructNothing(Module &) { return llvm::Error::success(); }
llvm::Error observeNothing(Module &, const ObservedTensor &) { return llvm::Error::success(); }
bool needsNoData(const Module &) { return true; }

llvm::Expected<QParams> calculateRefused(const Module &observer) {
  return error(observer.getLoc(), "'{0}' has no quantization parameters", observer.getClass()->getBaseName())
      .code("observer_qparams");
}

llvm::Error resetMinMaxVals(Module &observer) {
  if (!observer.findTensor("min_val") || observer.findTensor("histogram"))
    return error(observer.getLoc(), "'{0}' cannot forget what it has seen", observer.getClassName()).code("observer_reset");
  return findObserver(observer)->construct(observer);
}

llvm::Error constructFixed(Module &observer) {
  if (readObserverSettings(observer).isDynamic)
    return error(observer.getLoc(), "'FixedQParamsObserver' cannot be dynamic").code("observer_dynamic");
  const Argument *scale = observer.findAttribute("scale"), *zeroPoint = observer.findAttribute("zero_point");
  if (!scale || !scale->isNumber() || !zeroPoint || !zeroPoint->isInt())
    return error(observer.getLoc(), "'FixedQParamsObserver' needs a scale and an integer zero_point").code("observer_fixed");
  if (zeroPoint->getInt() < INT32_MIN || zeroPoint->getInt() > INT32_MAX)
    return error(observer.getLoc(), "'FixedQParamsObserver' has a zero_point of 32 bits, got {0}", std::to_string(zeroPoint->getInt())).code("observer_fixed");
  setVector(observer, "scale", static_cast<float>(scale->getNumber()));
  observer.setBuffer("zero_point", Tensor::of<int32_t>(DType::Int32, {1}, static_cast<int32_t>(zeroPoint->getInt())));
  return llvm::Error::success();
}

llvm::Expected<QParams> calculateFixed(const Module &observer) {
  ObserverSettings settings = readObserverSettings(observer);
  QParams qparams;
  qparams.dtype = settings.dtype;
  qparams.scheme = settings.scheme;
  qparams.scales = getFloats(observer, "scale").vec();
  qparams.zeroPoints = {static_cast<int64_t>(observer.getTensor("zero_point").getElementAsDouble(0))};
  qparams.quantMin = settings.givenMin;
  qparams.quantMax = settings.givenMax;
  return qparams;
}

} // namespace qfx
