// fuse_modules: named groups of modules become fused modules; the graph goes on calling all of them.
#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "passes/eager/Eager.h"
#include "passes/fuse/Fuse.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace qfx {

/// What a backend's fusers make of a chain of these modules: the chain is a model of its own, whose fusion must leave one call; else null.
static llvm::Expected<ModuleRef> fuseChainBy(const BackendConfig &backend, const std::vector<std::string> &paths,
                                             const std::vector<ModuleRef> &modules, bool isQat) {
  GraphModule chain;
  Node *value = chain.getGraph().placeholder("input");
  for (const auto &[path, module] : llvm::zip(paths, modules)) {
    chain.getRoot().setModule(path, module);
    value = chain.getGraph().callModule(path, {value});
    value->setLoc(module->getLoc());
  }
  chain.getGraph().output(value);
  PassContext context;
  context.backend = backend;
  auto fused = fuse(chain, FuseOptions{isQat}, context);
  if (!fused)
    return fused.takeError();
  bool isOneCall = chain.getGraph().getNumNodes() == 3; // input, the fused call, output
  return isOneCall ? chain.getRoot().findModule(paths.front()) : nullptr;
}

/// PyTorch's default fusers are the native backend's; additional ones come first, as `additional_fuser_method_mapping` does.
static llvm::Expected<ModuleRef> fuseChain(const std::vector<std::string> &paths, const std::vector<ModuleRef> &modules, bool isQat,
                                           const BackendConfig *additional) {
  const BackendConfig native = *getBuiltinBackendConfig("native");
  for (const BackendConfig *backend : {additional, &native}) {
    if (!backend)
      continue;
    auto fused = fuseChainBy(*backend, paths, modules, isQat);
    if (!fused || *fused)
      return fused;
  }
  std::string classes;
  for (const ModuleRef &module : modules)
    classes += (classes.empty() ? "" : ", ") + module->getClassName();
  return error(modules.front()->getLoc(), "there is no fuser for ({0}), the modules at {1}", classes, llvm::join(paths, ", "))
      .code("eager_fuse");
}

static llvm::Error fuseGroup(Module &root, const std::vector<std::string> &paths, bool isQat, const BackendConfig *additional) {
  std::vector<ModuleRef> modules;
  for (const std::string &path : paths) {
    ModuleRef module = root.findModule(path);
    if (!module) {
      std::vector<std::string> known;
      root.forEachModule([&](const std::string &other, const ModuleRef &) { known.push_back(other); });
      return error(root.getLoc(), "the model has no module '{0}' to fuse{1}", path, didYouMean(path, known)).code("eager_module");
    }
    modules.push_back(std::move(module));
  }
  auto fused = fuseChain(paths, modules, isQat, additional);
  if (!fused)
    return fused.takeError();
  root.setModule(paths.front(), *fused);
  for (size_t i = 1; i < paths.size(); ++i) {
    auto identity = std::make_shared<Module>(requireModuleClass("torch.nn.Identity"));
    identity->setTraining(modules.front()->isTraining());
    identity->setLoc(modules[i]->getLoc());
    root.setModule(paths[i], std::move(identity));
  }
  return llvm::Error::success();
}

llvm::Expected<GraphModule> fuseModules(GraphModule model, const ModuleGroups &groups, bool isQat, const BackendConfig *additional) {
  auto qconfigs = ModuleQConfigs::load(model); // by object: what was set on a fused member goes with it, as upstream
  if (!qconfigs)
    return qconfigs.takeError();
  for (const std::vector<std::string> &group : groups) {
    if (group.size() < 2)
      return error(model.getRoot().getLoc(), "a group of modules to fuse has two or three paths, got {0}", group.size()).code("eager_fuse");
    if (llvm::Error err = fuseGroup(model.getRoot(), group, isQat, additional))
      return err;
  }
  qconfigs->store(model);
  return model;
}

} // namespace qfx
