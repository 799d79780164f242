// prepare and prepare_qat of eager mode.
#include "backends/observe/Observer.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "ir/Text.h"
#include "passes/custom/ObservedModules.h"
#include "passes/eager/Eager.h"
#include "passes/eager/EagerDetail.h"
#include "passes/eager/ObserverHooks.h"
#include "passes/eager/Pieces.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace qfx {

/// averaging_constant 1 on the observer, or on the one inside a fake-quantizer: it sees the input instead of the output.
static bool isMemoryless(const Module &observer) {
  ModuleRef inner = observer.findChild(kActivationPostProcess);
  const Argument *constant = (inner ? *inner : observer).findAttribute("averaging_constant");
  return constant && constant->isFloat() && constant->getFloat() == 1;
}

namespace {
/// _add_observer_ (workflow 7.3).
class ObserverAttacher {
public:
  /// \param isInside  the model is a module in pieces: observers become children, the graph has no calls of them.
  ObserverAttacher(GraphModule &model, ModuleQConfigs &qconfigs, const ModuleClassList &propagationList,
                   const ModuleClassList &nonLeafList, const ModuleMapping &floatToObserved, bool isInside = false)
      : hooks(model), qconfigs(qconfigs), propagationList(propagationList), nonLeafList(nonLeafList), floatToObserved(floatToObserved),
        isInside(isInside) {}

  llvm::Error visitChildren(Module &parent, const std::string &path) {
    for (const auto &[name, child] : Module::Named<ModuleRef>(parent.getChildren())) // attaching adds children
      if (llvm::Error err = visitChild(parent, name, child, joinPath(path, name)))
        return err;
    return llvm::Error::success();
  }

private:
  llvm::Error visitChild(Module &parent, const std::string &name, const ModuleRef &child, const std::string &path) {
    static const std::string dropout = "torch.nn.Dropout";
    bool observed = qconfigs.getActive(*child) != nullptr;
    // A module with two parents has one observer (upstream hooks it twice).
    if (isObserver(*child) || child->getClassName() == dropout || !visited.insert(child.get()).second)
      return llvm::Error::success();
    if (isFloatFunctional(*child))
      return observed ? observeFunctional(*child) : llvm::Error::success();
    if (isFusedModule(*child) || isListed(nonLeafList, *child))
      return observed ? attach(child, path, nullptr) : llvm::Error::success();
    if (const ObserverSpec *special = child->isTraining() ? findSpecialObserver(*child) : nullptr)
      return observed ? attach(child, path, special) : llvm::Error::success();
    if (const std::string *observedClass = observed ? floatToObserved.find(*child) : nullptr)
      return swapForObserved(parent, name, child, *observedClass, path);
    bool isLeaf = child->getChildren().empty();
    if (llvm::Error err = visitChildren(*child, path))
      return err;
    if (observed && isListed(propagationList, *child) && !isSequential(*child) && (isLeaf || child->findChild("weight_fake_quant")))
      return attach(child, path, nullptr);
    return llvm::Error::success();
  }

  static bool isSequential(const Module &module) { return module.getClassName() == "torch.nn.Sequential"; }

  llvm::Expected<ModuleRef> buildObserver(const Module &module, const ObserverSpec *special) const {
    const QConfig &qconfig = *qconfigs.getActive(module);
    if (!special && !qconfig.activation)
      return error(module.getLoc(), "the qconfig {0} has no activation observer", qconfig.toString()).code("eager_activation");
    return (special ? *special : *qconfig.activation).build();
  }

  llvm::Error attach(const ModuleRef &module, const std::string &path, const ObserverSpec *special) {
    static const TargetInfo &deQuantStub = requireModuleClass("torch.ao.quantization.stubs.DeQuantStub");
    if (module->isA(deQuantStub))
      return llvm::Error::success();
    auto observer = buildObserver(*module, special);
    if (!observer)
      return observer.takeError();
    auto ofQConfig = special ? buildObserver(*module, nullptr) : *observer;
    if (!ofQConfig)
      return ofQConfig.takeError();
    if (isInside) {
      module->setChild(kActivationPostProcess, std::move(*observer));
      return llvm::Error::success();
    }
    return hooks.attach(module, path, std::move(*observer), isMemoryless(**ofQConfig));
  }

  llvm::Error observeFunctional(Module &functional) {
    auto observer = buildObserver(functional, nullptr);
    if (!observer)
      return observer.takeError();
    functional.setChild(kActivationPostProcess, std::move(*observer));
    return llvm::Error::success();
  }

  llvm::Error swapForObserved(Module &parent, const std::string &name, const ModuleRef &child, const std::string &observedClass,
                              const std::string &path) {
    auto observed = makeObservedCustomModule(*child, OperatorName::resolve(observedClass), *qconfigs.getActive(*child));
    if (!observed)
      return observed.takeError();
    qconfigs.set(*observed, *qconfigs.find(*child));
    parent.setChild(name, *observed);
    hooks.replaceModule(*child, *observed);
    retired.push_back(child);
    if (!isInPieces(**observed))
      return attach(*observed, path, nullptr);
    OptionalQConfig qconfig = *qconfigs.find(**observed);
    (*observed)->forEachModule([&](const std::string &, const ModuleRef &piece) { qconfigs.set(piece, qconfig); });
    return llvm::Error::success();
  }

  ObserverHooks hooks;
  ModuleQConfigs &qconfigs;
  const ModuleClassList &propagationList, &nonLeafList;
  const ModuleMapping &floatToObserved;
  bool isInside;
  llvm::DenseSet<const Module *> visited;
  std::vector<ModuleRef> retired; ///< addresses in use as keys stay taken
};
} // namespace

static ModuleClassList canonical(ModuleClassList classes) {
  for (std::string &name : classes)
    name = getCanonicalClassName(name);
  return classes;
}

llvm::Expected<GraphModule> prepareEager(GraphModule model, const EagerPrepareOptions &options, PassContext &context) {
  if (model.findMeta("prepared") || ObserverHooks::isHooked(model))
    return error(model.getRoot().getLoc(), "the model is prepared already").code("prepare_twice");
  if (llvm::Error err = propagateQConfig(model))
    return err;
  auto qconfigs = ModuleQConfigs::load(model);
  if (!qconfigs)
    return qconfigs.takeError();
  if (!qconfigs->hasActive())
    context.warn(error(model.getRoot().getLoc(), "no module has a qconfig: nothing is prepared").code("eager_no_qconfig").take());
  ModuleClassList propagationList = canonical(options.allowList ? *options.allowList : getDefaultQConfigPropagationList());
  ModuleClassList nonLeafList = canonical(options.observerNonLeafModuleList);
  ModuleMapping floatToObserved = options.floatToObserved ? *options.floatToObserved : getDefaultFloatToObservedMapping();
  ObserverAttacher attacher(model, *qconfigs, propagationList, nonLeafList, floatToObserved);
  if (llvm::Error err = attacher.visitChildren(model.getRoot(), ""))
    return err;
  qconfigs->store(model);
  return model;
}

llvm::Error preparePieces(const ModuleRef &whole, const QConfig &qconfig) {
  GraphModule holder;
  holder.getRoot().setChild("whole", whole);
  ModuleQConfigs qconfigs;
  auto give = [&] { whole->forEachModule([&](const std::string &, const ModuleRef &piece) { qconfigs.set(piece, qconfig); }); };
  give();
  ModuleClassList nonLeafList;
  if (whole->isTraining()) {
    ModuleMapping toQat = getDefaultQatModuleMappings();
    if (llvm::Error err = swapChildren(holder, *whole, "whole", qconfigs, toQat))
      return err;
    give();
    for (const auto &entry : toQat.getEntries())
      nonLeafList.push_back(entry.second);
    nonLeafList = canonical(std::move(nonLeafList));
  }
  ModuleClassList propagationList = canonical(getDefaultQConfigPropagationList());
  ModuleMapping noCustom;
  ObserverAttacher attacher(holder, qconfigs, propagationList, nonLeafList, noCustom, /*isInside=*/true);
  return attacher.visitChildren(*whole, "whole");
}

llvm::Expected<GraphModule> prepareQatEager(GraphModule model, const std::optional<ModuleMapping> &mapping, PassContext &context) {
  if (!model.getRoot().isTraining())
    return error(model.getRoot().getLoc(), "prepare for quantization-aware training needs a model in training mode").code("eager_training");
  ModuleMapping toQat = mapping ? *mapping : getDefaultQatModuleMappings();
  if (llvm::Error err = propagateQConfig(model))
    return err;
  EagerConvertOptions convertOptions;
  convertOptions.mapping = toQat;
  convertOptions.removeQConfig = false;
  auto converted = convertEager(std::move(model), convertOptions, context);
  if (!converted)
    return converted;
  EagerPrepareOptions prepareOptions;
  for (const auto &entry : toQat.getEntries())
    prepareOptions.observerNonLeafModuleList.push_back(entry.second);
  return prepareEager(std::move(*converted), prepareOptions, context);
}

} // namespace qfx
