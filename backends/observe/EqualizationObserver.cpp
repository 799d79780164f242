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

static bool isRange(const Tensor *tensor) { return tensor && tensor->getDType() == DType::Float32 && tensor->getRank() == 1; }

Module *findColumnObserver(const Module &observer) {
  static const TargetInfo &perChannel = requireModuleClass("torch.ao.quantization.observer.PerChannelMinMaxObserver");
  ModuleRef child = observer.findChild(getChildName(observer));
  if (!child || !child->isA(perChannel) || !isRange(child->findTensor("min_val")) || !isRange(child->findTensor("max_val")))
    return nullptr;
  return child.get(); // the parent keeps it alive
}

static llvm::Error reportState(const Module &observer) {
  return error(observer.getLoc(), "'{0}' lacks a well-formed '{1}' (PerChannelMinMaxObserver with min_val and max_val)",
               observer.getClass()->getBaseName(), getChildName(observer))
      .code("observer_state");
}

void setColumnAxis(Module &observer, int64_t axis) {
  if (Module *columns = findColumnObserver(observer))
    columns->setAttribute("ch_axis", axis);
}

std::vector<int64_t> getEqualizationShape(const Module &observer) {
  const Tensor *shape = observer.findTensor(kShape);
  return shape && shape->getDType() == DType::Int64 ? shape->getData<int64_t>().vec() : std::vector<int64_t>();
}

static size_t getAxis(const Module &columns, size_t rank) {
  int64_t axis = readObserverSettings(columns).axis;
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

llvm::Expected<ColumnsSeen> readColumns(const Module &observer) {
  const Module *columns = findColumnObserver(observer);
  if (!columns)
    return reportState(observer);
  ColumnsSeen seen;
  seen.mins = columns->getTensor("min_val").getData<float>().vec();
  seen.maxs = columns->getTensor("max_val").getData<float>().vec();
  seen.rank = getEqualizationShape(observer).size();
  const size_t axis = getAxis(*columns, seen.rank);
  if (seen.mins.size() != seen.maxs.size() || (!seen.mins.empty() && axis >= seen.rank))
    return reportState(observer);
  seen.axis = static_cast<int64_t>(axis);
  return seen;
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
  Module *columns = findColumnObserver(observer);
  if (!columns)
    return reportState(observer);
  if (llvm::Error err = observePerChannel(*columns, input))
    return err;
  if (!isInputEqualizationObserver(observer) || input.getNumElements() == 0)
    return llvm::Error::success();
  const size_t axis = getAxis(*columns, rank); // within the rank, or the column observer had said so
  std::vector<int64_t> shape(rank, 1);
  shape[axis] = input.sizes[axis];
  setShape(observer, shape);
  return llvm::Error::success();
}

bool hasEqualizationObserved(const Module &observer) {
  const Module *columns = findColumnObserver(observer);
  return columns && hasMinMax(*columns);
}

llvm::Error mergeEqualization(Module &observer, const Module &other) {
  return mergeMinMax(*findColumnObserver(observer), *findColumnObserver(other)); // both have seen data
}

} // namespace qfx
