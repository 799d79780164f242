// load-observers: statistics that PyTorch's observers saved, in place of a calibration here.
#include "backends/observe/ObserverState.h"
#include "ir/weights/Safetensors.h"
#include "passes/PassRegistry.h"

namespace qfx {

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
