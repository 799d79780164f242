// convert of eager mode: modules are swapped bottom up.
#include "backends/observe/Observer.h"
#include "backends/observe/ObserverState.h"
#include "ir/Diagnostics.h"
#include "passes/GraphUtils.h"
#include "passes/eager/Eager.h"
#include "passes/eager/EagerDetail.h"
#include "passes/eager/ObserverHooks.h"
#include "passes/eager/Pieces.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace qfx {

namespace {
class Converter {
public:
  Converter(GraphModule &model, ModuleQConfigs &qconfigs, const SwapOptions &options)
      : model(model), hooks(model), qconfigs(qconfigs), options(options) {}

  llvm::Error convertChildren(Module &parent, const std::string &path) {
    for (const auto &[name, child] : Module::Named<ModuleRef>(parent.getChildren())) {
      if (isObserver(*child))
        continue;
      if (llvm::Error err = options.context ? options.context->checkCancelled("eager-convert") : llvm::Error::success())
        return err;
      auto swapped = convertChild(child, joinPath(path, name));
      if (!swapped)
        return swapped.takeError();
      if (*swapped != child)
        parent.setChild(name, *swapped);
    }
    return llvm::Error::success();
  }

  void removeObservers() {
    std::vector<ModuleRef> modules; // removing changes the tree
    model.getRoot().forEachModule([&](const std::string &, const ModuleRef &module) { modules.push_back(module); });
    for (const ModuleRef &module : modules)
      hooks.remove(*module);
  }

private:
  llvm::Expected<ModuleRef> convertChild(const ModuleRef &child, const std::string &path) {
    if (ModuleRef done = swappedModules.lookup(child.get()))
      return done; // a shared module is swapped once and stays shared
    if (!isFusedModule(*child) && !options.observedToQuantized.find(*child)) // those convert as one unit
      if (llvm::Error err = convertChildren(*child, path))
        return err;
    ModuleRef twin = child;
    if (isFloatFunctional(*child) && options.mapping.find(*child) && qconfigs.getActive(*child)) {
      auto made = convertFloatFunctional(model, path, child);
      if (!made)
        return made;
      twin = *made;
    } else {
      auto swapped = swapModule(child, qconfigs, options);
      if (!swapped)
        return swapped;
      twin = *swapped;
      if (twin != child)
        hooks.remove(*child);
    }
    if (twin != child && twin->findChild("weight_fake_quant"))
      qconfigs.set(twin, *qconfigs.find(*child)); // QAT modules keep their qconfig
    retired.push_back(child);
    swappedModules[child.get()] = twin;
    return twin;
  }

  GraphModule &model;
  ObserverHooks hooks;
  ModuleQConfigs &qconfigs;
  const SwapOptions &options;
  llvm::DenseMap<const Module *, ModuleRef> swappedModules;
  std::vector<ModuleRef> retired; ///< addresses in use as keys stay taken
};
} // namespace

llvm::Error swapChildren(GraphModule &model, Module &parent, const std::string &path, ModuleQConfigs &qconfigs,
                         const ModuleMapping &mapping) {
  return Converter(model, qconfigs, {mapping, ModuleMapping()}).convertChildren(parent, path);
}

llvm::Expected<ModuleRef> convertPieces(const Module &whole, const QConfig &qconfig) {
  ModuleRef copy = whole.deepCopy();
  GraphModule holder;
  holder.getRoot().setChild("whole", copy);
  ModuleQConfigs qconfigs;
  copy->forEachModule([&](const std::string &, const ModuleRef &piece) { qconfigs.set(piece, qconfig); });
  ModuleMapping mapping = getDefaultStaticQuantModuleMappings();
  if (llvm::Error err = swapChildren(holder, *copy, "whole", qconfigs, mapping))
    return err;
  std::vector<ModuleRef> pieces; // removing changes the tree
  copy->forEachModule([&](const std::string &, const ModuleRef &piece) { pieces.push_back(piece); });
  for (const ModuleRef &piece : pieces)
    if (ObserverHooks::getObserver(*piece))
      piece->removeChild(kActivationPostProcess);
  return copy;
}

bool isInPieces(const Module &module) { return isListed(getNoObserverSet(), module); }

/// QFX: a static observer that saw no data is an error that names all of them, or under `allowUncalibrated` a warning.
static llvm::Error checkCalibrated(GraphModule &model, const ModuleQConfigs &qconfigs, const SwapOptions &options, PassContext &context) {
  ObserverHooks hooks(model);
  std::vector<std::string> names;
  model.getRoot().forEachModule([&](const std::string &path, const ModuleRef &module) {
    ModuleRef observer = ObserverHooks::getObserver(*module);
    // A FloatFunctional that only adds numbers has an observer that nothing reaches and nothing needs.
    bool isNeeded = observer && (!isFloatFunctional(*module) || !hooks.getCalls(*observer).empty());
    if (isNeeded && qconfigs.getActive(*module) && options.mapping.find(*module) && !hasObserved(*observer) && !isObserverDynamic(*observer))
      names.push_back("'" + path + "'");
  });
  if (names.empty())
    return llvm::Error::success();
  auto problem = error(model.getRoot().getLoc(), "no calibration data reached the observers of {0}", llvm::join(names, ", "))
                     .code("convert_uncalibrated");
  if (!context.allowUncalibrated)
    return problem;
  context.warn(std::move(problem).take());
  return llvm::Error::success();
}

llvm::Expected<GraphModule> convertEager(GraphModule model, const EagerConvertOptions &options, PassContext &context) {
  if (model.findMeta("prepared"))
    return error(model.getRoot().getLoc(), "the model was prepared in graph mode: 'convert' converts it, eager mode's does not").code("eager_convert_graph");
  if (llvm::Error err = checkObserverStates(model.getRoot()))
    return err;
  auto qconfigs = ModuleQConfigs::load(model);
  if (!qconfigs)
    return qconfigs.takeError();
  if (!qconfigs->hasActive())
    context.warn(error(model.getRoot().getLoc(), "no module has a qconfig: nothing is converted").code("eager_no_qconfig").take());
  ModuleMapping mapping = options.mapping       ? *options.mapping
                          : options.isReference ? getDefaultStaticQuantReferenceModuleMappings()
                                                : getDefaultStaticQuantModuleMappings();
  ModuleMapping observedToQuantized =
      options.observedToQuantized ? *options.observedToQuantized : getDefaultObservedToQuantizedMapping();
  SwapOptions swapOptions{mapping, observedToQuantized, options.usePrecomputedFakeQuant, &context};
  if (llvm::Error err = checkCalibrated(model, *qconfigs, swapOptions, context))
    return err;
  detachReads(model, [&](const Module &module) { return qconfigs->getActive(module) && mapping.find(module); });
  Converter converter(model, *qconfigs, swapOptions);
  if (llvm::Error err = converter.convertChildren(model.getRoot(), ""))
    return err;
  if (options.removeQConfig) {
    converter.removeObservers();
    ModuleQConfigs::drop(model);
  } else {
    qconfigs->store(model);
  }
  return model;
}

} // namespace qfx
