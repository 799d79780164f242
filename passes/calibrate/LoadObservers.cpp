// load-observers: statistics that PyTorch's observers saved, in place of a calibration here.
#include "backends/observe/ObserverState.h"
#include "ir/Diagnostics.h"
#include "ir/weights/Safetensors.h"
#include "passes/PassRegistry.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace qfx {

/// Is there an entry of any observer of the model?
static bool hasObserverEntry(const Module &root, llvm::ArrayRef<std::pair<std::string, Tensor>> entries) {
  llvm::StringSet<> observers;
  root.forEachModule([&](const std::string &path, const ModuleRef &module) {
    if (isObserver(*module))
      observers.insert(path);
  });
  return llvm::any_of(entries, [&](const auto &entry) { return observers.contains(splitPath(entry.first).first); });
}

namespace {
struct LoadObserversPass final : Pass {
  LoadObserversPass(std::string path, LoadObserverOptions options) : path(std::move(path)), options(options) {}

  llvm::Expected<bool> run(GraphModule &model, PassContext &) override {
    if (path.empty())
      return error({}, "'load-observers' needs a state: load-observers{{from=FILE.safetensors}").code("usage");
    auto file = SafetensorsFile::open(path);
    if (!file)
      return file.takeError();
    auto entries = file->readAll();
    if (!entries)
      return entries.takeError();
    if (!hasObserverEntry(model.getRoot(), *entries))
      return error(model.getRoot().getLoc(), "'{0}' has no state of an observer of this model{1}", path,
                   model.findMeta("prepared") ? "" : ", which is not prepared")
          .code("observer_state");
    if (llvm::Error err = loadObserverStateDict(model.getRoot(), *entries, options))
      return err;
    return true;
  }

  std::string path;
  LoadObserverOptions options;
};
} // namespace

std::unique_ptr<Pass> createLoadObservers(const PassOptions &options) {
  return std::make_unique<LoadObserversPass>(options.getString("from"), LoadObserverOptions{options.getBool("reset-eps")});
}

} // namespace qfx
