// The steps of prepare in order.
#include "passes/prepare/Prepare.h"

#include "backends/config/DerivedMapping.h"
#include "backends/config/EqualizationConfig.h"
#include "ir/Infer.h"
#include "passes/Pass.h"
#include "passes/GraphUtils.h"
#include "passes/PassRegistry.h"
#include "passes/config/UnmatchedRules.h"
#include "passes/eager/ObserverHooks.h"
#include "passes/equalize/EqualizableCalls.h"
#include "passes/fuse/FusionRecord.h"
#include "passes/prepare/ObserverInserter.h"
#include "passes/prepare/PrepareOptions.h"
#include "passes/prepare/PreparedState.h"
#include "passes/prepare/Standalone.h"
#include "passes/qat/QatModules.h"

namespace qfx {

static bool isEmpty(const QConfigMapping &mapping) {
  return !mapping.getGlobal() && mapping.getObjectTypes().empty() && mapping.getModuleNameRegexes().empty() &&
         mapping.getModuleNames().empty() && mapping.getModuleNameObjectTypeOrders().empty();
}

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

/// _equalization_config of prepare_fx: prepare_qat_fx takes none.
static llvm::Error checkEqualization(GraphModule &model, const PrepareOptions &options, const PassContext &context) {
  if (isEmpty(options.equalization))
    return llvm::Error::success();
  if (options.isQat)
    return error(model.getRoot().getLoc(), "an equalization config is for post-training quantization, the model is prepared for training")
        .code("equalization_qat");
  if (llvm::Error err = checkEqualizationMapping(options.equalization))
    return err;
  return checkMappingRules(options.equalization, model, context);
}

/// Axis of the channels in the first argument of an equalizable call, 1 where it is not known.
static int64_t findChannelAxis(const Node &node, const GraphModule &model, const TypeMap &types) {
  const EqualizableCall *call = findEqualizableCall(node, model);
  const Node *input = call && !node.getArgs().empty() ? node.getArg(0).getNodeOrNull() : nullptr;
  auto found = input ? types.find(input) : types.end();
  const TensorType *type = found != types.end() ? found->second.getTensor() : nullptr;
  return type ? call->getChannelAxis(type->getRank()).value_or(1) : 1;
}

/// The node -> equalization qconfig map of workflow 4.1, step 7; nodes without one have no entry.
static llvm::Expected<EqualizationChoices> resolveEqualization(const GraphModule &model, QConfigMapping mapping) {
  EqualizationChoices choices;
  if (isEmpty(mapping))
    return choices;
  if (llvm::Error err = updateMappingForFusion(mapping, model))
    return err;
  auto resolver = QConfigResolver::create(mapping);
  if (!resolver)
    return resolver.takeError();
  auto types = inferTypes(model);
  if (!types)
    return types.takeError();
  for (const Node &node : model.getGraph().nodes())
    if (std::optional<ResolvedQConfig> resolved = resolver->resolve(node, model); resolved && resolved->qconfig)
      choices.try_emplace(&node, EqualizationChoice{std::move(*resolved->qconfig), findChannelAxis(node, model, *types)});
  return choices;
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
  problems.add(checkEqualization(model, options, context));
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
  auto equalization = resolveEqualization(model, options.equalization);
  if (!equalization)
    return equalization.takeError();
  ObserverInserter inserter(model, plan, custom, *equalization);
  if (llvm::Error err = inserter.run())
    return err;

  for (const auto &[node, resolved] : plan.getQConfigs())
    state.nodeQConfigs[node->getName()] = resolved.qconfig;
  for (const auto &[node, choice] : *equalization)
    state.equalizationQConfigs[node->getName()] = choice.qconfig;
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
  if (std::string path = options.getString("equalization"); !path.empty()) {
    auto equalization = loadEqualizationMapping(path);
    if (!equalization)
      return equalization.takeError();
    result.equalization = std::move(*equalization);
  }
  std::optional<QConfigMapping> ofKind = context.qconfigMapping ? std::nullopt : getMappingOfKind(options.getString("kind"));
  if (!ofKind)
    return withMapping(std::move(result), context);
  result.mapping = std::move(*ofKind);
  return result;
}

namespace {
/// `prepare{mode=ptq input-quantized-indexes=[0] equalization=FILE.json}`.
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
