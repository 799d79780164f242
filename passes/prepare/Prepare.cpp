// The steps of prepare in order.
#include "passes/prepare/Prepare.h"

#include "backends/config/DerivedMapping.h"
#include "passes/Pass.h"
#include "passes/PassRegistry.h"
#include "passes/config/UnmatchedRules.h"
#include "passes/fuse/FusionRecord.h"
#include "passes/prepare/ObserverInserter.h"
#include "passes/prepare/PreparedState.h"

namespace qfx {

static size_t countOutputs(GraphModule &model) {
  const Node *output = model.getGraph().getOutput();
  if (!output || output->getArgs().empty())
    return 0;
  const Argument &value = output->getArg(0);
  return value.isSequence() ? value.getElements().size() : 1;
}

llvm::Expected<bool> prepare(GraphModule &model, const PrepareOptions &options, PassContext &context) {
  if (model.findMeta("prepared"))
    return error(model.getRoot().getLoc(), "the model is prepared already").code("prepare_twice");
  if (options.isQat)
    return error(model.getRoot().getLoc(),
                 "'prepare' makes models for post-training quantization; quantization-aware training "
                 "needs modules that this build does not have")
        .code("prepare_qat");
  ErrorList problems;
  if (!options.isDefaultMapping)
    problems.add(checkMappingRules(options.mapping, model, context));
  problems.add(
      checkIndexes("input_quantized_idxs", options.inputQuantizedIndexes, model.getGraph().getPlaceholders().size()));
  problems.add(checkIndexes("output_quantized_idxs", options.outputQuantizedIndexes, countOutputs(model)));
  if (llvm::Error err = problems.take())
    return err;

  PreparedState state;
  state.mapping = options.mapping;
  state.isQat = options.isQat;
  state.inputQuantizedIndexes = options.inputQuantizedIndexes;
  state.outputQuantizedIndexes = options.outputQuantizedIndexes;
  state.backendName = context.backend.getName();
  if (llvm::Error err = updateMappingForFusion(state.mapping, model))
    return err;

  DTypePlan plan(model, context.backend, context);
  if (llvm::Error err = plan.resolveQConfigs(state.mapping))
    return err;
  if (llvm::Error err = plan.findMatches())
    return err;
  if (llvm::Error err = plan.decide(options.inputQuantizedIndexes, options.strictModuleWeights))
    return err;
  ObserverInserter inserter(model, plan);
  if (llvm::Error err = inserter.run())
    return err;

  for (const auto &[node, resolved] : plan.getQConfigs())
    state.nodeQConfigs[node->getName()] = resolved.qconfig;
  state.observedNodes = inserter.takeObservedNodes();
  bool changed = !state.observedNodes.empty();
  model.dropUnreferencedMembers();
  dropFusionRecord(model);
  state.store(model);
  return changed;
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

namespace {
/// `prepare{mode=ptq input-quantized-indexes=[0]}`; the mapping comes from the context.
class PreparePass final : public Pass {
public:
  explicit PreparePass(PrepareOptions options) : options(std::move(options)) {}

  llvm::Expected<bool> run(GraphModule &model, PassContext &context) override {
    llvm::Expected<PrepareOptions> complete = withMapping(options, context);
    if (!complete)
      return complete.takeError();
    return prepare(model, *complete, context);
  }

private:
  PrepareOptions options;
};
} // namespace

std::unique_ptr<Pass> createPrepare(const PassOptions &options) {
  PrepareOptions prepareOptions;
  prepareOptions.isQat = options.getString("mode") == "qat";
  prepareOptions.inputQuantizedIndexes = options.getInts("input-quantized-indexes");
  prepareOptions.outputQuantizedIndexes = options.getInts("output-quantized-indexes");
  prepareOptions.strictModuleWeights = options.getBool("strict-module-weights");
  return std::make_unique<PreparePass>(std::move(prepareOptions));
}

} // namespace qfx
