// Observer state dictionaries: gathered, checked, loaded.
#include "backends/observe/ObserverState.h"

#include "backends/observe/BuffersDetail.h"
#include "backends/observe/GridHistogramDetail.h"
#include "backends/observe/ObserverRowsDetail.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

namespace qfx {

static std::string joinKey(const std::string &path, llvm::StringRef name) { return path.empty() ? name.str() : path + "." + name.str(); }

/// Names of the class's buffers; a recording's batches are none.
static bool hasEntry(const Module &module, llvm::StringRef name) {
  return llvm::any_of(getModuleTensors(module), [&](const ModuleTensor &tensor) { return tensor.name == name; });
}

std::vector<std::pair<std::string, Tensor>> getObserverStateDict(const Module &root) {
  std::vector<std::pair<std::string, Tensor>> entries;
  root.forEachModule([&](const std::string &path, const ModuleRef &module) {
    if (!module->getClass())
      return;
    for (const auto *tensors : {&module->getParameters(), &module->getBuffers()})
      for (const auto &[name, tensor] : *tensors)
        if (std::string key = joinKey(path, name); llvm::StringRef(key).contains("activation_post_process") && hasEntry(*module, name))
          entries.emplace_back(std::move(key), tensor);
  });
  return entries;
}

/// May a buffer of this name have these sizes?  Ranges per channel, and parameters of fake-quantizers, have a length that follows the data; ranges per
/// block any shape.
static bool fitsShape(const Module &module, llvm::StringRef name, const Tensor &buffer, const Tensor &value) {
  const bool isRange = name == "min_val" || name == "max_val";
  if (isRange && module.findAttribute("granularity"))
    return true;
  const bool hasOwnLength = isRange ? module.findAttribute("ch_axis") != nullptr : name == "scale" || name == "zero_point" || name == "block_size" || name == "equalization_shape";
  return hasOwnLength ? value.getSizes().size() == 1 : buffer.getSizes() == value.getSizes();
}

/// What no data gives: a count below 0, a least scale that is none, no scale at all.
static bool isPossible(llvm::StringRef name, const Tensor &value) {
  auto all = [&](auto holds) {
    if (value.getDType() == DType::Float32)
      return llvm::all_of(value.getData<float>(), holds);
    for (int64_t i = 0, n = value.getNumElements(); i < n; ++i)
      if (!holds(value.getElementAsDouble(i)))
        return false;
    return true;
  };
  if (name == "histogram")
    return all([](double count) { return count >= 0 && std::isfinite(count); });
  if (name == "scale" || name == "zero_point") // whose values convert judges
    return value.getNumElements() != 0;
  return name != "eps" || all([](double eps) { return eps > 0 && std::isfinite(eps); });
}

/// \param buffer  what the class has under this name, with the dtype and shape that `value` must have.
static llvm::Error checkEntry(const Module &module, const std::string &key, llvm::StringRef name, const Tensor *buffer, const Tensor &value) {
  if (!buffer)
    return error(module.getLoc(), "'{0}' has no state '{1}' (key '{2}')", module.getClass()->getBaseName(), name, key).code("observer_state");
  // float zero points and integer ones follow from the scheme, flags from the class; other dtypes are converted nowhere
  if (buffer->getDType() != value.getDType())
    return error(module.getLoc(), "state '{0}' is {1}, got {2}", key, getDTypeInfo(buffer->getDType()).torchName,
                 getDTypeInfo(value.getDType()).torchName)
        .code("observer_state");
  if (!fitsShape(module, name, *buffer, value))
    return error(module.getLoc(), "state '{0}' has another shape: {1}, expected {2}", key, toString(value.getType()),
                 toString(buffer->getType()))
        .code("observer_state");
  if (!isPossible(name, value))
    return error(module.getLoc(), "state '{0}' has values that no data gives: {1}", key,
                 name == "histogram" ? "counts are finite and not negative"
                 : name == "eps"     ? "a least scale is finite and above 0"
                                     : "there is at least one")
        .code("observer_state");
  return llvm::Error::success();
}

namespace {
struct Change {
  ModuleRef module;
  std::string name;
  Tensor value;
};
} // namespace

/// Keys of serialization versions 1 and 2.
static llvm::StringRef toPresentName(llvm::StringRef name) {
  return name == "min_vals" ? "min_val" : name == "max_vals" ? "max_val" : name;
}

/// A histogram written before version 3 may have empty bounds for "nothing seen".
static Tensor toPresentValue(const Module &module, llvm::StringRef name, const Tensor &value) {
  if (!module.findTensor("histogram") || value.getNumElements() != 0 || (name != "min_val" && name != "max_val"))
    return value;
  return Tensor::of<float>(DType::Float32, {}, name == "min_val" ? INFINITY : -INFINITY);
}

/// Does the observer follow from another one?  PyTorch has that other one in its place (docs/Differences.md, B03): its state is loaded once.
static bool isDerived(const Module &module) { return module.getClassName() == "qfx.DerivedObserver"; }

llvm::Error loadObserverStateDict(Module &root, llvm::ArrayRef<std::pair<std::string, Tensor>> entries, LoadObserverOptions options) {
  llvm::StringMap<ModuleRef> observers;
  root.forEachModule([&](const std::string &path, const ModuleRef &module) {
    if (isObserver(*module))
      observers.try_emplace(path, module);
  });
  std::vector<Change> changes;
  llvm::Error failures = llvm::Error::success();
  for (const auto &[key, tensor] : entries) {
    auto [path, storedName] = splitPath(key);
    auto found = observers.find(path);
    if (found == observers.end() || isDerived(*found->second))
      continue;
    llvm::StringRef name = toPresentName(storedName);
    Tensor value = toPresentValue(*found->second, name, tensor);
    if (options.resetsEps && name == "eps")
      value = Tensor::of<float>(DType::Float32, {1}, 1.1920928955078125e-07f);
    const Tensor *buffer = hasEntry(*found->second, name) ? found->second->findTensor(name) : nullptr;
    if (llvm::Error err = checkEntry(*found->second, key, name, buffer, value))
      failures = llvm::joinErrors(std::move(failures), std::move(err));
    else
      changes.push_back({found->second, name.str(), std::move(value)});
  }
  if (failures)
    return failures;
  for (Change &change : changes)
    change.module->setBuffer(change.name, std::move(change.value));
  return llvm::Error::success();
}

/// The observer as its constructor leaves it.
static llvm::Expected<ModuleRef> makeUnused(const Module &observer) {
  ModuleRef unused = observer.shallowCopy();
  if (ModuleRef inner = observer.findChild(kInnerObserver)) {
    if (!isObserver(*inner))
      return error(inner->getLoc(), "'{0}' has a '{1}' that is no observer", observer.getClass()->getBaseName(), kInnerObserver).code("observer_state");
    auto unusedInner = makeUnused(*inner);
    if (!unusedInner)
      return unusedInner.takeError();
    unused->setChild(kInnerObserver, std::move(*unusedInner));
  }
  if (llvm::Error err = findObserver(observer)->construct(*unused))
    return err;
  return unused;
}

/// What several buffers say together: ranges have two ends of one length, in order where a histogram lies between them.
static llvm::Error checkRange(const Module &observer, const std::string &path) {
  const Tensor *low = observer.findTensor("min_val"), *high = observer.findTensor("max_val");
  if (!low || !high)
    return llvm::Error::success();
  if (low->getSizes() != high->getSizes())
    return error(observer.getLoc(), "state of '{0}': min_val is {1}, max_val {2}", path, toString(low->getType()), toString(high->getType()))
        .code("observer_state");
  if (!observer.findTensor("histogram") || !hasMinMax(observer))
    return llvm::Error::success();
  const float first = low->getData<float>().front(), last = high->getData<float>().front();
  if (std::isfinite(first) && std::isfinite(last) && first <= last)
    return observer.findTensor("first_cell") ? checkGridHistogram(observer, path) : llvm::Error::success();
  return error(observer.getLoc(), "state of '{0}': a histogram from {1} to {2}, expected a finite range", path, first, last).code("observer_state");
}

/// The counts of observe(), see getNonFiniteCounts.
static llvm::Error checkNonFinite(const Module &observer, const std::string &path) {
  ModuleRef counts = observer.findChild(kNonFinite);
  for (llvm::StringRef name : {"infinite", "nan"})
    if (const Tensor *count = counts ? counts->findTensor(name) : nullptr; counts && (!count || count->getDType() != DType::Int64 || count->getNumElements() != 1))
      return error(observer.getLoc(), "state '{0}.{1}.{2}' is one int64", path, kNonFinite, name).code("observer_state");
  return llvm::Error::success();
}

static llvm::Error checkObserverState(const Module &observer, const std::string &path) {
  auto unused = makeUnused(observer);
  if (!unused)
    return unused.takeError();
  llvm::Error failures = llvm::Error::success();
  for (const ModuleTensor &entry : getModuleTensors(observer)) {
    const Tensor *buffer = (*unused)->findTensor(entry.name), *value = observer.findTensor(entry.name);
    if (!buffer || entry.name == "original_dtype") // of any dtype: that of the data
      continue;
    if (!value)
      failures = llvm::joinErrors(std::move(failures), error(observer.getLoc(), "state '{0}' is missing", joinKey(path, entry.name)).code("observer_state"));
    else
      failures = llvm::joinErrors(std::move(failures), checkEntry(observer, joinKey(path, entry.name), entry.name, buffer, *value));
  }
  if (failures)
    return failures;
  if (llvm::Error err = checkRange(observer, path))
    return err;
  return checkNonFinite(observer, path);
}

llvm::Error checkObserverStates(const Module &root) {
  llvm::Error failures = llvm::Error::success();
  root.forEachModule([&](const std::string &path, const ModuleRef &module) {
    if (isObserver(*module))
      failures = llvm::joinErrors(std::move(failures), checkObserverState(*module, path));
  });
  return failures;
}

} // namespace qfx
