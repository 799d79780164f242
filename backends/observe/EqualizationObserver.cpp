// An equalization observer is a per-channel observer along axis 1 under the name that PyTorch gives it.
#include "backends/observe/EqualizationObserver.h"

#include "backends/observe/ObserverRowsDetail.h"
#include "backends/observe/ObserverSettings.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"

namespace qfx {

static constexpr llvm::StringLiteral kShape = "equalization_shape";

bool isInputEqualizationObserver(const Module &module) { return module.getClassName() == kInputEqualizationClass; }

bool isEqualizationObserver(const Module &module) {
  return isInputEqualizationObserver(module) || module.getClassName() == kWeightEqualizationClass;
}

static llvm::StringRef getChildName(const Module &observer) {
  return isInputEqualizationObserver(observer) ? "input_obs" : "weight_col_obs";
}

Module &getColumnObserver(const Module &observer) {
  ModuleRef child = observer.findChild(getChildName(observer));
  assert(child && "an equalization observer has its column observer");
  return *child; // the parent keeps it alive
}

void setColumnAxis(Module &observer, int64_t axis) { getColumnObserver(observer).setAttribute("ch_axis", axis); }

std::vector<int64_t> getEqualizationShape(const Module &observer) {
  const Tensor *shape = observer.findTensor(kShape);
  return shape ? shape->getData<int64_t>().vec() : std::vector<int64_t>();
}

static void setShape(Module &observer, llvm::ArrayRef<int64_t> shape) {
  observer.setBuffer(kShape, Tensor::of<int64_t>(DType::Int64, {static_cast<int64_t>(shape.size())}, shape));
}

static QScheme toPerChannel(QScheme scheme) {
  switch (scheme) {
  case QScheme::PerTensorAffine:
    return QScheme::PerChannelAffine;
  case QScheme::PerTensorSymmetric:
    return QScheme::PerChannelSymmetric;
  default:
    return scheme;
  }
}

static llvm::Error construct(Module &observer, const ObserverSettings &settings) {
  auto child = std::make_shared<Module>(requireModuleClass("torch.ao.quantization.observer.PerChannelMinMaxObserver"));
  child->setAttribute("ch_axis", int64_t(1));
  child->setAttribute("dtype", settings.dtype);
  child->setAttribute("qscheme", toPerChannel(settings.scheme));
  if (settings.givenMin)
    child->setAttribute("quant_min", *settings.givenMin);
  if (settings.givenMax)
    child->setAttribute("quant_max", *settings.givenMax);
  if (llvm::Error err = constructPerChannel(*child))
    return err;
  observer.setChild(getChildName(observer), std::move(child));
  return llvm::Error::success();
}

llvm::Error constructInputEqualization(Module &observer) {
  ObserverSettings settings = readObserverSettings(observer);
  if (isPerChannel(settings.scheme))
    return error(observer.getLoc(), "'{0}' needs a per-tensor qscheme, got '{1}'", observer.getClass()->getBaseName(),
                 getQSchemeName(settings.scheme))
        .code("observer_qscheme");
  setShape(observer, {});
  return construct(observer, settings);
}

llvm::Error constructWeightEqualization(Module &observer) { return construct(observer, readObserverSettings(observer)); }

llvm::Error observeEqualization(Module &observer, const ObservedTensor &input) {
  const size_t rank = input.sizes.size();
  if (rank < 2 || rank > 5)
    return error(observer.getLoc(), "'{0}' observes linear and convolution layers: tensors of rank 2 to 5, got rank {1}",
                 observer.getClass()->getBaseName(), std::to_string(rank))
        .code("observer_rank");
  Module &columns = getColumnObserver(observer);
  if (llvm::Error err = observePerChannel(columns, input))
    return err;
  if (!isInputEqualizationObserver(observer) || input.getNumElements() == 0)
    return llvm::Error::success();
  const auto axis = static_cast<size_t>(columns.getAttribute("ch_axis").getInt());
  std::vector<int64_t> shape(rank, 1);
  shape[axis] = input.sizes[axis];
  setShape(observer, shape);
  return llvm::Error::success();
}

bool hasEqualizationObserved(const Module &observer) { return hasMinMax(getColumnObserver(observer)); }

llvm::Error mergeEqualization(Module &observer, const Module &other) {
  return mergeMinMax(getColumnObserver(observer), getColumnObserver(other));
}

} // namespace qfx
