// The steps of prepare in order.
#include "passes/prepare/Prepare.h"

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
  llvm::StringRef name = backend.getName();
  if (name == "executorch" && !isQat)
    return getSymmetricQnnpackQConfigMapping();
  if (name == "native")
    name = engine;
  if (name == "x86" || name == "fbgemm" || name == "qnnpack" || name == "onednn")
    return isQat ? getDefaultQatQConfigMapping(name) : getDefaultQConfigMapping(name);
  return error(Location(), "the backend '{0}' has no default qconfig mapping: give one with --qconfig",
               backend.getName())
      .code("qconfig_needed");
}

namespace {
/// `prepare{mode=ptq input-quantized-indexes=[0]}`; the mapping comes from the context.
class PreparePass final : public Pass {
public:
  explicit PreparePass(PrepareOptions options) : options(std::move(options)) {}

  llvm::Expected<bool> run(GraphModule &model, PassContext &context) override {
    PrepareOptions complete = options;
    if (context.qconfigMapping) {
      complete.mapping = *context.qconfigMapping;
    } else {
      auto mapping = getDefaultMappingFor(context.backend, context.engine, options.isQat);
      if (!mapping)
        return mapping.takeError();
      complete.mapping = std::move(*mapping);
    }
    return prepare(model, complete, context);
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
