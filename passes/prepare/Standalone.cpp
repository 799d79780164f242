// One fuse and prepare per standalone module, in a context of its own.
#include "passes/prepare/Standalone.h"

#include "ir/ModuleGraph.h"
#include "passes/Pass.h"
#include "passes/fuse/Fuse.h"
#include "passes/prepare/Prepare.h"

#include "llvm/ADT/StringSet.h"

namespace qfx {

static llvm::Expected<ModuleRef> prepareOne(const Module &module, const StandaloneModuleConfig &config, const OptionalQConfig &qconfig,
                                            const PrepareOptions &outer, PassContext &context) {
  PassContext inner = context;
  if (config.backendConfig)
    inner.backend = *config.backendConfig;
  inner.customConfig = CustomConfig();
  if (config.prepareCustomConfig)
    inner.customConfig.prepare = *config.prepareCustomConfig;
  PrepareOptions options;
  options.isQat = outer.isQat;
  options.strictModuleWeights = outer.strictModuleWeights;
  options.custom = inner.customConfig.prepare;
  if (config.qconfigMapping)
    options.mapping = *config.qconfigMapping;
  else
    options.mapping.setGlobal(qconfig);
  GraphModule model = openModule(module);
  if (auto fused = fuse(model, FuseOptions{outer.isQat}, inner); !fused)
    return fused.takeError();
  if (auto prepared = prepare(model, options, inner); !prepared)
    return prepared.takeError();
  const Argument &result = model.getGraph().getOutput()->getArg(0);
  if (!result.isNode())
    return error(module.getLoc(), "a standalone module returns one value, '{0}' returns {1}", module.getClassName(),
                 toString(result, ArgumentStyle::Repr))
        .code("standalone_output");
  return closeModule(model);
}

llvm::Error prepareStandaloneModules(GraphModule &model, const DTypePlan &plan, const PrepareOptions &options, PassContext &context) {
  llvm::StringSet<> done;
  for (const QuantMatch &match : plan.getMatches()) {
    const Node &call = *match.match.anchor;
    if (match.kind != MatchKind::Standalone || !done.insert(call.getTargetText()).second)
      continue;
    const QConfig *qconfig = plan.findQConfig(call); // none: nothing in it is quantized, its interface stays
    auto prepared = prepareOne(*model.getModule(call), *match.standalone, qconfig ? OptionalQConfig(*qconfig) : std::nullopt, options, context);
    if (!prepared)
      return prepared.takeError();
    model.getRoot().setModule(call.getTargetText(), *prepared);
  }
  return llvm::Error::success();
}

} // namespace qfx
