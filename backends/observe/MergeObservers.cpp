// One observer's state out of two that have seen different parts of the data.
#include "backends/observe/BuffersDetail.h"
#include "backends/observe/ObserverRowsDetail.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace qfx {

/// The same class with the same constructor arguments, defaults filled in; children alike.
static bool isSameKind(const Module &a, const Module &b) {
  if (!a.getClass() || a.getClass() != b.getClass())
    return false;
  for (const SlotInfo &slot : a.getClass()->getSignature().getSlots()) {
    const Argument *left = a.findAttribute(slot.name), *right = b.findAttribute(slot.name);
    if ((left == nullptr) != (right == nullptr) || (left && !(*left == *right)))
      return false;
  }
  ModuleRef left = a.findChild("activation_post_process"), right = b.findChild("activation_post_process");
  return (left == nullptr) == (right == nullptr) && (!left || isSameKind(*left, *right));
}

static void copyState(Module &observer, const Module &other) {
  for (const auto &[name, tensor] : other.getBuffers())
    observer.setBuffer(name, tensor);
  for (const auto &[name, child] : other.getChildren())
    observer.setChild(name, child->deepCopy());
}

llvm::Error mergeObserver(Module &observer, const Module &other) {
  const ObserverInfo *info = findObserver(observer);
  assert(info && "not an observer");
  if (!isSameKind(observer, other))
    return error(observer.getLoc(), "only observers of the same class and arguments can be merged, got '{0}' and '{1}'",
                 observer.getClass()->getBaseName(), other.getClassName())
        .code("merge_class");
  if (!info->hasObserved(other))
    return llvm::Error::success();
  if (!info->hasObserved(observer)) {
    copyState(observer, other);
    return llvm::Error::success();
  }
  return info->merge(observer, other);
}

llvm::Error mergeNothing(Module &, const Module &) { return llvm::Error::success(); }

llvm::Error mergeOrdered(Module &observer, const Module &) {
  return error(observer.getLoc(), "moving averages of '{0}' cannot be merged: the result would depend on the order of the batches",
               observer.getClass()->getBaseName())
      .code("merge_order");
}

llvm::Error mergeMinMax(Module &observer, const Module &other) {
  std::vector<float> low = getFloats(observer, "min_val").vec(), high = getFloats(observer, "max_val").vec();
  llvm::ArrayRef<float> otherLow = getFloats(other, "min_val"), otherHigh = getFloats(other, "max_val");
  if (low.size() != otherLow.size() || high.size() != otherHigh.size())
    return error(observer.getLoc(), "observers of {0} and {1} channels cannot be merged", low.size(), otherLow.size())
        .code("merge_shape");
  // NaN in either sticks, as it does while observing.
  for (auto [value, seen] : llvm::zip(low, otherLow))
    value = std::isnan(seen) || seen < value ? seen : value;
  for (auto [value, seen] : llvm::zip(high, otherHigh))
    value = std::isnan(seen) || seen > value ? seen : value;
  const Tensor &shape = observer.getTensor("min_val");
  observer.setBuffer("max_val", Tensor::of<float>(DType::Float32, shape.getSizes(), high));
  observer.setBuffer("min_val", Tensor::of<float>(DType::Float32, shape.getSizes(), low));
  return llvm::Error::success();
}

} // namespace qfx
