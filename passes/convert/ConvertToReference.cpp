// The walk of convert-to-reference over a calibrated graph (workflow 5.2).
#include "passes/convert/Convert.h"
#include "passes/convert/ConvertDetail.h"

#include "backends/observe/ObserverState.h"
#include "ir/Ops.h"
#include "passes/GraphUtils.h"
#include "passes/PassRegistry.h"
#include "passes/config/QConfigResolver.h"
#include "passes/qat/QatModules.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

ModuleRef getObserver(const GraphModule &model, const Node &node) {
  if (!node.is(Opcode::CallModule))
    return nullptr;
  ModuleRef module = model.getModule(node);
  return module && isObserver(*module) ? module : nullptr;
}

/// The input is declared quantized: it arrives as codes, whose parameters it brings along, and float users read its dequantized form.
static void dequantizeInput(Graph &graph, Node &placeholder) {
  if (std::optional<TensorType> type = placeholder.getType(); type && type->dtype == DType::Float32) {
    type->dtype = DType::QUInt8;
    placeholder.setType(std::move(*type));
  }
  auto insertPoint = Graph::InsertPoint::after(&placeholder);
  Node *dequantize = graph.callMethod(requireMethod("dequantize"), {&placeholder});
  dequantize->setLoc(placeholder.getLoc());
  placeholder.replaceAllUsesWith(dequantize, [&](Node *user) { return user != dequantize; });
}

/// Lets the output read the quantized value below every dequantize in `value`.
static void keepQuantized(ConvertState &state, Node &output, const Argument &value) {
  if (Node *node = value.getNodeOrNull(); isDequantize(node)) {
    output.replaceInputWith(node, node->getArg(0).getNode());
  } else if (value.isSequence()) {
    for (const Argument &element : value.getElements())
      keepQuantized(state, output, element);
  } else if (value.isDict()) {
    for (const auto &entry : value.getEntries())
      keepQuantized(state, output, entry.second);
  } else {
    state.context.warn(error(output.getLoc(), "output '{0}' is declared quantized but is not the result of a dequantize",
                             toString(value, ArgumentStyle::Repr))
                           .code("convert_output")
                           .take());
  }
}

static llvm::Error convertOutput(ConvertState &state, Node &output) {
  const Argument value = output.getArg(0);
  for (int64_t index : state.prepared.outputQuantizedIndexes) {
    if (value.isSequence()) {
      if (index < 0 || index >= static_cast<int64_t>(value.getElements().size()))
        return error(output.getLoc(), "output_quantized_idxs names output {0}, the graph has {1}", index,
                     value.getElements().size())
            .code("convert_output");
      keepQuantized(state, output, value.getElements()[index]);
    } else if (index == 0) {
      keepQuantized(state, output, value);
    } else {
      return error(output.getLoc(), "output_quantized_idxs names output {0}, the graph has 1", index).code("convert_output");
    }
  }
  return llvm::Error::success();
}

/// Workflow 2.5: a mapping given at convert may only switch quantization off.
static llvm::Error overrideQConfigs(ConvertState &state, QConfigMapping mapping) {
  GraphModule &model = state.model;
  auto fail = [&](const auto &...args) -> llvm::Error {
    return error(model.getRoot().getLoc(), args...).code("convert_mapping");
  };
  if (state.prepared.isQat)
    addQatObjectTypes(mapping, state.context.backend);
  if (llvm::Error err = updateMappingForFusion(mapping, model))
    return err;
  const QConfigMapping &before = state.prepared.mapping;
  if (!qconfigEquals(mapping.getGlobal(), before.getGlobal()))
    return fail("the global qconfig differs from the one given to prepare");
  for (const auto &[type, qconfig] : before.getObjectTypes()) {
    const OptionalQConfig *now = mapping.findObjectType(type);
    if (!now)
      return fail("the mapping lacks the object type '{0}' that prepare's has", type.text);
    if (*now && !qconfigEquals(*now, qconfig))
      return fail("the qconfig of object type '{0}' differs from the one given to prepare: only none may replace it", type.text);
  }
  auto checkKeys = [&](llvm::StringRef what, const auto &olds, const auto &news) -> llvm::Error {
    for (const auto &[key, qconfig] : olds) {
      auto now = llvm::find_if(news, [&, &name = key](const auto &entry) { return entry.first == name; });
      if (now == news.end())
        return fail("the mapping lacks the {0} '{1}' that prepare's has", what, key);
      if (now->second && !qconfigEquals(now->second, qconfig))
        return fail("the qconfig of the {0} '{1}' differs from the one given to prepare: only none may replace it", what, key);
    }
    return llvm::Error::success();
  };
  if (llvm::Error err = checkKeys("module name", before.getModuleNames(), mapping.getModuleNames()))
    return err;
  if (llvm::Error err = checkKeys("module name regex", before.getModuleNameRegexes(), mapping.getModuleNameRegexes()))
    return err;
  auto resolver = QConfigResolver::create(mapping);
  if (!resolver)
    return resolver.takeError();
  for (const Node &node : model.getGraph().nodes()) {
    auto resolved = resolver->resolve(node, model);
    auto entry = state.prepared.nodeQConfigs.find(node.getName());
    if (!resolved || entry == state.prepared.nodeQConfigs.end() || (state.context.splitOutputs && !entry->second))
      continue;
    if (resolved->qconfig && !qconfigEquals(resolved->qconfig, entry->second))
      return fail("the qconfig of '{0}' (from {1}) differs from the one given to prepare: only none may replace it", node.getName(),
                  resolved->rule);
    entry->second = resolved->qconfig;
  }
  return llvm::Error::success();
}

static llvm::Error convertModuleCall(ConvertState &state, Node &node) {
  static const TargetInfo &deQuantStub = requireModuleClass("torch.ao.quantization.stubs.DeQuantStub");
  ModuleRef module = state.model.getModule(node);
  if (getObserver(state.model, node))
    return state.staticCustomCalls.contains(node.getArg(0).getNodeOrNull()) ? replaceByDequantize(node) : replaceObserver(state, node);
  if (module->isA(deQuantStub))
    return replaceByDequantize(node);
  if (isObservedStandalone(*module))
    return convertStandalone(state, node);
  if (state.customModules.count(node.getTargetText()) || state.context.customConfig.convert.isObservedClass(OperatorName::ofClass(*module)))
    return convertCustomModule(state, node);
  return convertWeightedModule(state, node);
}

/// Section `convert` of a custom config may override entries of prepare's mapping.
static std::optional<QConfigMapping> applyOverrides(const QConfigMapping &before, const std::optional<QConfigMapping> &overrides) {
  if (!overrides)
    return std::nullopt;
  QConfigMapping mapping = before;
  if (overrides->getGlobal())
    mapping.setGlobal(overrides->getGlobal());
  for (const auto &[type, qconfig] : overrides->getObjectTypes())
    mapping.setObjectType(type, qconfig);
  for (const auto &[regex, qconfig] : overrides->getModuleNameRegexes())
    mapping.setModuleNameRegex(regex, qconfig);
  for (const auto &[path, qconfig] : overrides->getModuleNames())
    mapping.setModuleName(path, qconfig);
  for (const auto &[key, qconfig] : overrides->getModuleNameObjectTypeOrders())
    mapping.setModuleNameObjectTypeOrder(key, qconfig);
  return mapping;
}

llvm::Error convertToReference(GraphModule &model, const ConvertOptions &options, PassContext &context) {
  if (llvm::Error err = checkObserverStates(model.getRoot()))
    return err;
  auto prepared = PreparedState::load(model);
  if (!prepared)
    return prepared.takeError();
  ConvertState state{model, std::move(*prepared), context};
  std::optional<QConfigMapping> override = options.qconfigMapping;
  if (!override)
    override = applyOverrides(state.prepared.mapping, context.customConfig.convertOverrides);
  if (override)
    if (llvm::Error err = overrideQConfigs(state, std::move(*override)))
      return err;
  if (llvm::Error err = equalize(state))
    return err;
  if (llvm::Error err = runWeightObservers(state))
    return err;
  if (llvm::Error err = checkCalibration(state))
    return err;
  measureActivations(state);
  if (llvm::Error err = dropMismatchedAdditions(state))
    return err;

  int64_t inputIndex = 0;
  for (Node *node : model.getGraph().getNodeVector()) {
    llvm::Error err = context.checkCancelled("convert-to-reference");
    if (err)
      return err;
    if (node->is(Opcode::Placeholder)) {
      if (llvm::is_contained(state.prepared.inputQuantizedIndexes, inputIndex++))
        dequantizeInput(model.getGraph(), *node);
    } else if (node->is(Opcode::Output)) {
      err = convertOutput(state, *node);
    } else if (node->is(Opcode::CallModule)) {
      err = convertModuleCall(state, *node);
    }
    if (err)
      return err;
  }
  if (llvm::Error err = measureWeights(state))
    return err;
  model.getGraph().eliminateDeadCode();
  dropUnreferencedMembers(model, context.customConfig.convert.getPreservedAttributes());
  state.prepared.store(model);
  return llvm::Error::success();
}

namespace {
struct ConvertToReferencePass final : Pass {
  llvm::Expected<bool> run(GraphModule &model, PassContext &context) override {
    if (llvm::Error err = convertToReference(model, {context.convertQConfigMapping}, context))
      return err;
    return true;
  }
};
} // namespace

std::unique_ptr<Pass> createConvertToReference(const PassOptions &) { return std::make_unique<ConvertToReferencePass>(); }

} // namespace qfx
