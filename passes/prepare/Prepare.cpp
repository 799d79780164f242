// The steps of prepare in order.
#include "passes/prepare/Prepare.h"

#include "backends/config/DerivedMapping.h"
#include "passes/Pass.h"
#include "passes/GraphUtils.h"
#include "passes/PassRegistry.h"
#include "passes/config/UnmatchedRules.h"
#include "passes/eager/ObserverHooks.h"
#include "passes/fuse/FusionRecord.h"
#include "passes/prepare/ObserverInserter.h"
#include "passes/prepare/PrepareOptions.h"
#include "passes/prepare/PreparedState.h"
#include "passes/prepare/Standalone.h"
#include "passes/qat/QatModules.h"

namespace qfx {

static size_t countOutputs(GraphModule &model) {
  const Node *output = model.getGraph().getOutput();
  if (!output || output->getArgs().empty())
    return 0;
  const Argument &value = output->getArg(0);
  return value.isSequence() ? value.getElements().size() : 1;
}

/// Names, classes and attributes of a custom config that meet nothing in the model, and indexes out of range (workflow 2.3, QFX).
static llvm::Error checkCustomConfig(GraphModule &model, const PrepareCustomConfig &custom, const PassContext &context) {
  ErrorList problems;
  problems.add(
      checkIndexes("input_quantized_idxs", custom.getInputQuantizedIndexes(), model.getGraph().getPlaceholders().size()));
  problems.add(checkIndexes("output_quantized_idxs", custom.getOutputQuantizedIndexes(), countOutputs(model)));
  problems.add(checkCustomRules(custom, model, context));
  return problems.take();
}

/// One row per call node.
static void reportCoverage(const PassContext &context, const GraphModule &model, const DTypePlan &plan, const PreparedState &state) {
  if (!context.onCoverage)
    return;
  for (const Node &node : model.getGraph().nodes()) {
    if (!state.findQConfig(node) || node.is(Opcode::Placeholder) || node.is(Opcode::GetAttr) || node.is(Opcode::Output))
      continue;
    CoverageRow row;
    row.pass = "prepare";
    row.node = node.getName();
    row.operation = getCalledName(node, model).str();
    const QConfig *qconfig = plan.findQConfig(node);
    row.requested = qconfig ? describeDTypes(*qconfig) : "none";
    row.reason = plan.getReason(node);
    bool isObserved = state.observedNodes.contains(node.getName()) && row.reason.empty();
    row.granted = isObserved ? row.requested : "float";
    context.onCoverage(row);
  }
}

llvm::Expected<bool> prepare(GraphModule &model, const PrepareOptions &options, PassContext &context) {
  if (model.findMeta("prepared") || ObserverHooks::isHooked(model))
    return error(model.getRoot().getLoc(), "the model is prepared already").code("prepare_twice");
  PrepareCustomConfig custom = options.custom ? *options.custom : context.customConfig.prepare;
  if (!options.inputQuantizedIndexes.empty())
    custom.setInputQuantizedIndexes(options.inputQuantizedIndexes);
  if (!options.outputQuantizedIndexes.empty())
    custom.setOutputQuantizedIndexes(options.outputQuantizedIndexes);
  ErrorList problems;
  if (!options.isDefaultMapping)
    problems.add(checkMappingRules(options.mapping, model, context));
  problems.add(checkCustomConfig(model, custom, context));
  if (llvm::Error err = problems.take())
    return err;

  PreparedState state;
  state.mapping = options.mapping;
  state.isQat = options.isQat;
  state.inputQuantizedIndexes = custom.getInputQuantizedIndexes();
  state.outputQuantizedIndexes = custom.getOutputQuantizedIndexes();
  state.backendName = context.backend.getName();
  if (llvm::Error err = updateMappingForFusion(state.mapping, model))
    return err;
  if (options.isQat) {
    if (llvm::Error err = swapToQatModules(model, context.backend, state.mapping, custom))
      return err;
    addQatObjectTypes(state.mapping, context.backend);
  }

  DTypePlan plan(model, context.backend, context);
  if (llvm::Error err = plan.resolveQConfigs(state.mapping))
    return err;
  if (llvm::Error err = plan.findMatches(custom))
    return err;
  if (llvm::Error err = plan.decide(state.inputQuantizedIndexes, options.strictModuleWeights))
    return err;
  if (llvm::Error err = prepareStandaloneModules(model, plan, options, context))
    return err;
  ObserverInserter inserter(model, plan, custom);
  if (llvm::Error err = inserter.run())
    return err;

  for (const auto &[node, resolved] : plan.getQConfigs())
    state.nodeQConfigs[node->getName()] = resolved.qconfig;
  state.observedNodes = inserter.takeObservedNodes();
  reportCoverage(context, model, plan, state);
  bool changed = !state.observedNodes.empty();
  dropUnreferencedMembers(model, custom.getPreservedAttributes());
  dropFusionRecord(model);
  state.store(model);
  return changed;
}

std::optional<QConfigMapping> getMappingOfKind(llvm::StringRef kind) {
  QConfigMapping mapping;
  auto setGlobal = [&](llvm::StringRef alias) { return mapping.setGlobal(findQConfigAlias(alias)); };
  if (kind == "dynamic")
    return setGlobal("default_dynamic_qconfig");
  if (kind == "float16")
    return setGlobal("float16_dynamic_qconfig");
  if (kind == "float16-static")
    return setGlobal("float16_static_qconfig");
  if (kind != "weight-only" && kind != "weight-only-4bit")
    return std::nullopt;
  OptionalQConfig qconfig =
      findQConfigAlias(kind == "weight-only" ? "float_qparams_weight_only_qconfig" : "float_qparams_weight_only_qconfig_4bit");
  mapping.setObjectType(OperatorName::resolve("torch.nn.Embedding"), qconfig);
  mapping.setObjectType(OperatorName::resolve("torch.nn.EmbeddingBag"), qconfig);
  return mapping;
}

llvm::Expected<QConfigMapping> getDefaultMappingFor(const BackendConfig &backend, llvm::StringRef engine, bool isQat) {
  llvm::StringRef name = backend.getDefaultMappingName();
  if (name == "executorch")
    return isQat ? getSymmetricQnnpackQatQConfigMapping() : getSymmetricQnnpackQConfigMapping();
  if (name == "native")
    name = engine;
  if (hasDefaultQConfig(name))
    return isQat ? getDefaultQatQConfigMapping(name) : getDefaultQConfigMapping(name);
  return deriveQConfigMapping(backend, isQat);
}

llvm::Expected<PrepareOptions> withMapping(PrepareOptions options, const PassContext &context) {
  options.isDefaultMapping = !context.qconfigMapping;
  if (context.qconfigMapping) {
    options.mapping = *context.qconfigMapping;
    return options;
  }
  llvm::Expected<QConfigMapping> mapping = getDefaultMappingFor(context.backend, context.engine, options.isQat);
  if (!mapping)
    return mapping.takeError();
  options.mapping = std::move(*mapping);
  return options;
}

llvm::Expected<PrepareOptions> getPrepareOptions(const PassOptions &options, const PassContext &context) {
  PrepareOptions result;
  result.isQat = options.getString("mode") == "qat";
  result.inputQuantizedIndexes = options.getInts("input-quantized-indexes");
  result.outputQuantizedIndexes = options.getInts("output-quantized-indexes");
  result.strictModuleWeights = options.getBool("strict-module-weights");
  std::optional<QConfigMapping> ofKind = context.qconfigMapping ? std::nullopt : getMappingOfKind(options.getString("kind"));
  if (!ofKind)
    return withMapping(std::move(result), context);
  result.mapping = std::move(*ofKind);
  return result;
}

namespace {
/// `prepare{mode=ptq input-quantized-indexes=[0]}`.
class PreparePass final : public Pass {
public:
  explicit PreparePass(const PassOptions &options) : options(options) {}

  llvm::Expected<bool> run(GraphModule &model, PassContext &context) override {
    llvm::Expected<PrepareOptions> complete = getPrepareOptions(options, context);
    if (!complete)
      return complete.takeError();
    return prepare(model, *complete, context);
  }

private:
  PassOptions options;
};
} // namespace

std::unique_ptr<Pass> createPrepare(const PassOptions &options) { return std::make_unique<PreparePass>(options); }

} // namespace qfx
