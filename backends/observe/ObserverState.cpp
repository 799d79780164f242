// Observer state dictionaries: gathered, checked, loaded.
#include "backends/observe/ObserverState.h"

#include "backends/observe/BuffersDetail.h"
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
  const bool hasOwnLength = isRange ? module.findAttribute("ch_axis") != nullptr : name == "scale" || name == "zero_point" || name == "block_size";
  return hasOwnLength ? value.getSizes().size() == 1 : buffer.getSizes() == value.getSizes();
}

/// What no data gives: a count below 0, a least scale that is none.
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
  return name != "eps" || all([](double eps) { return eps > 0 && std::isfinite(eps); });
}

static llvm::Error checkEntry(const Module &module, const std::string &key, llvm::StringRef name, const Tensor &value) {
  const Tensor *buffer = hasEntry(module, name) ? module.findTensor(name) : nullptr;
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
    return error(module.getLoc(), "state '{0}' has values that no data gives: {1} finite and {2}", key,
                 name == "eps" ? "a least scale is" : "counts are", name == "eps" ? "above 0" : "not negative")
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
    if (llvm::Error err = checkEntry(*found->second, key, name, value))
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

} // namespace qfx
