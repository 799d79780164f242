// convert of eager mode: modules are swapped bottom up.
#include "backends/observe/Observer.h"
#include "ir/Diagnostics.h"
#include "passes/eager/Eager.h"
#include "passes/eager/EagerDetail.h"
#include "passes/eager/ObserverHooks.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

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
    // Custom modules convert as one unit; LSTM and attention do so by converting their pieces.
    const std::string *custom = options.observedToQuantized.find(*child);
    bool inPieces = custom && isListed(getNoObserverSet(), *child);
    if (!isFusedModule(*child) && (!custom || inPieces))
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
  auto qconfigs = ModuleQConfigs::load(model);
  if (!qconfigs)
    return qconfigs.takeError();
  ModuleMapping mapping = options.mapping       ? *options.mapping
                          : options.isReference ? getDefaultStaticQuantReferenceModuleMappings()
                                                : getDefaultStaticQuantModuleMappings();
  ModuleMapping observedToQuantized =
      options.observedToQuantized ? *options.observedToQuantized : getDefaultObservedToQuantizedMapping();
  SwapOptions swapOptions{mapping, observedToQuantized, options.usePrecomputedFakeQuant};
  if (llvm::Error err = checkCalibrated(model, *qconfigs, swapOptions, context))
    return err;
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
