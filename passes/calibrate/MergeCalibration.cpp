// Observers of two calibrated copies of one model, merged path by path.
#include "passes/calibrate/MergeCalibration.h"

#include "backends/observe/ObserverState.h"
#include "ir/text/QfxText.h"
#include "passes/PassRegistry.h"

#include "llvm/ADT/DenseSet.h"

#include <map>

namespace qfx {

/// Each observer object once, under the first of its paths; those inside fake-quantizers go with them.
static std::map<std::string, ModuleRef> findObservers(const GraphModule &model) {
  std::map<std::string, ModuleRef> observers;
  llvm::DenseSet<const Module *> seen;
  model.getRoot().forEachModule([&](const std::string &path, const ModuleRef &module) {
    if (!isObserver(*module) || !seen.insert(module.get()).second)
      return;
    if (ModuleRef inner = module->findChild("activation_post_process"))
      seen.insert(inner.get());
    observers.insert({path, module});
  });
  return observers;
}

static llvm::Error atObserver(llvm::Error err, const std::string &path) {
  std::vector<Diagnostic> diagnostics = takeDiagnostics(std::move(err));
  for (Diagnostic &diagnostic : diagnostics)
    diagnostic.message = "'" + path + "': " + diagnostic.message;
  return llvm::make_error<InputError>(std::move(diagnostics));
}

llvm::Error mergeCalibration(GraphModule &model, const GraphModule &other) {
  for (const GraphModule *one : std::initializer_list<const GraphModule *>{&model, &other})
    if (llvm::Error err = checkObserverStates(one->getRoot()))
      return err;
  auto ours = findObservers(model), theirs = findObservers(other);
  for (const auto &[path, observer] : theirs)
    if (!ours.count(path))
      return error(observer->getLoc(), "the other model has an observer '{0}' that this one has not", path).code("merge_observer");
  std::vector<std::pair<ModuleRef, ModuleRef>> merged;
  for (const auto &[path, observer] : ours) {
    auto found = theirs.find(path);
    if (found == theirs.end())
      return error(observer->getLoc(), "the other model has no observer '{0}'", path).code("merge_observer");
    ModuleRef copy = observer->deepCopy();
    if (llvm::Error err = mergeObserver(*copy, *found->second))
      return atObserver(std::move(err), path);
    merged.emplace_back(observer, std::move(copy));
  }
  // The objects stay: several paths may lead to one.
  for (const auto &[observer, state] : merged) {
    for (const auto &[name, tensor] : state->getBuffers())
      observer->setBuffer(name, tensor);
    for (const auto &[name, child] : state->getChildren())
      observer->setChild(name, child);
  }
  return llvm::Error::success();
}

namespace {
struct MergeCalibrationPass final : Pass {
  explicit MergeCalibrationPass(std::string path) : path(std::move(path)) {}

  llvm::Expected<bool> run(GraphModule &model, PassContext &) override {
    if (path.empty())
      return error({}, "'merge-calibration' needs a model: merge-calibration{{from=FILE.qfx}").code("usage");
    llvm::Expected<GraphModule> other = loadModel(path);
    if (!other)
      return other.takeError();
    if (llvm::Error err = mergeCalibration(model, *other))
      return err;
    return true;
  }

  std::string path;
};
} // namespace

std::unique_ptr<Pass> createMergeCalibration(const PassOptions &options) {
  return std::make_unique<MergeCalibrationPass>(options.getString("from"));
}

} // namespace qfx
