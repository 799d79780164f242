// Observer state dictionaries: gathered, checked, loaded.
#include "backends/observe/ObserverState.h"

#include "backends/observe/BuffersDetail.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

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

/// Buffers whose length follows the data.
static bool hasOwnLength(llvm::StringRef name) {
  return name == "min_val" || name == "max_val" || name == "scale" || name == "zero_point" || name == "block_size";
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
  if (!hasOwnLength(name) && buffer->getSizes() != value.getSizes())
    return error(module.getLoc(), "state '{0}' has another shape: {1}, expected {2}", key, toString(value.getType()),
                 toString(buffer->getType()))
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
    if (found == observers.end())
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
