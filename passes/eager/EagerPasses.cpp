// The eager functions as passes over a model.
#include "ir/Diagnostics.h"
#include "passes/PassRegistry.h"
#include "passes/eager/Eager.h"

#include "llvm/ADT/SmallVector.h"

namespace qfx {

namespace {
/// A pass that replaces the model by what a function makes of it.
class EagerPass final : public Pass {
public:
  using Function = std::function<llvm::Expected<GraphModule>(GraphModule model, PassContext &context)>;
  explicit EagerPass(Function function) : function(std::move(function)) {}

  llvm::Expected<bool> run(GraphModule &model, PassContext &context) override {
    auto changed = function(model.clone(), context); // a failed pass leaves the model as it was
    if (!changed)
      return changed.takeError();
    model = std::move(*changed);
    return true;
  }

private:
  Function function;
};
} // namespace

/// `conv1,bn1,relu1;fc1,relu2`
static ModuleGroups parseGroups(llvm::StringRef text) {
  ModuleGroups groups;
  llvm::SmallVector<llvm::StringRef, 8> lists, paths;
  text.split(lists, ';', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef list : lists) {
    paths.clear();
    list.split(paths, ',', -1, /*KeepEmpty=*/false);
    groups.emplace_back();
    for (llvm::StringRef path : paths)
      groups.back().push_back(path.trim().str());
  }
  return groups;
}

std::unique_ptr<Pass> createEagerFuse(const PassOptions &options) {
  ModuleGroups groups = parseGroups(options.getString("modules"));
  bool isQat = options.getString("mode") == "qat";
  return std::make_unique<EagerPass>([groups, isQat](GraphModule model, PassContext &context) {
    return fuseModules(std::move(model), groups, isQat, &context.backend);
  });
}

/// The qconfigs of the mapping in the context become those of the modules; without one the root gets the engine's default.
static llvm::Error applyQConfigs(GraphModule &model, bool isQat, PassContext &context) {
  if (context.qconfigMapping)
    return propagateQConfig(model, *context.qconfigMapping);
  auto qconfigs = ModuleQConfigs::load(model);
  if (!qconfigs || qconfigs->hasActive())
    return qconfigs.takeError();
  auto qconfig = isQat ? getDefaultQatQConfig(context.engine) : getDefaultQConfig(context.engine);
  if (!qconfig)
    return qconfig.takeError();
  return setQConfig(model, "", std::move(*qconfig));
}

std::unique_ptr<Pass> createEagerWrap(const PassOptions &options) {
  bool whole = options.getString("around") == "model";
  return std::make_unique<EagerPass>([whole](GraphModule model, PassContext &context) -> llvm::Expected<GraphModule> {
    if (whole)
      return wrapInQuantWrapper(std::move(model));
    if (llvm::Error err = applyQConfigs(model, /*isQat=*/false, context))
      return err;
    if (llvm::Error err = propagateQConfig(model))
      return err;
    return addQuantDequant(std::move(model));
  });
}

std::unique_ptr<Pass> createEagerPrepare(const PassOptions &options) {
  bool isQat = options.getString("mode") == "qat";
  return std::make_unique<EagerPass>([isQat](GraphModule model, PassContext &context) -> llvm::Expected<GraphModule> {
    if (llvm::Error err = applyQConfigs(model, isQat, context))
      return err;
    if (!isQat)
      return prepareEager(std::move(model), {}, context);
    bool wasTraining = model.getRoot().isTraining(); // the mode is no business of this pass, though prepare_qat insists on one
    setTraining(model, true);
    auto prepared = prepareQatEager(std::move(model), std::nullopt, context);
    if (prepared)
      setTraining(*prepared, wasTraining);
    return prepared;
  });
}

std::unique_ptr<Pass> createEagerConvert(const PassOptions &options) {
  EagerConvertOptions convertOptions;
  convertOptions.isReference = options.getBool("reference");
  return std::make_unique<EagerPass>([convertOptions](GraphModule model, PassContext &context) {
    return convertEager(std::move(model), convertOptions, context);
  });
}

static DType parseDynamicDType(llvm::StringRef name) {
  return name == "qint8" ? DType::QInt8 : name == "float16" ? DType::Float16 : name == "quint8" ? DType::QUInt8 : DType::QUInt4x2;
}

std::unique_ptr<Pass> createEagerQuantizeDynamic(const PassOptions &options) {
  DType dtype = parseDynamicDType(options.getString("dtype"));
  return std::make_unique<EagerPass>([dtype](GraphModule model, PassContext &context) -> llvm::Expected<GraphModule> {
    if (context.qconfigMapping)
      return quantizeDynamicEager(std::move(model), *context.qconfigMapping, std::nullopt, context);
    auto spec = getDefaultDynamicSpec(dtype);
    if (!spec)
      return spec.takeError();
    return quantizeDynamicEager(std::move(model), *spec, std::nullopt, context);
  });
}

} // namespace qfx
