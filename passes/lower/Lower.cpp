// The steps of lowering in PyTorch's order, and the tests they share.
#include "passes/lower/Lower.h"

#include "ir/ModuleGraph.h"
#include "ir/Ops.h"
#include "passes/GraphUtils.h"
#include "passes/PassRegistry.h"
#include "passes/config/ModuleFacts.h"
#include "passes/config/Operands.h"
#include "passes/lower/LowerDetail.h"

namespace qfx {

bool areDequantized(const Node &ref, size_t count) {
  bool any = false;
  for (size_t i = 0; i < count; ++i) {
    if (i >= ref.getArgs().size())
      return false;
    Node *operand = ref.getArg(i).getNodeOrNull();
    if (isDequantize(operand))
      any = true;
    else if (operand)
      return false;
  }
  return any;
}

bool isRelu(const LowerState &state, const Node &node) {
  static const TargetInfo &functional = requireFunction("torch.nn.functional.relu");
  static const TargetInfo &torch = requireFunction("torch.relu");
  static const TargetInfo &moduleClass = requireModuleClass("torch.nn.ReLU");
  if (isFunctionCall(&node, functional) || isFunctionCall(&node, torch))
    return true;
  if (!node.is(Opcode::CallModule))
    return false;
  ModuleRef module = state.model.getModule(node);
  return module && module->isA(moduleClass);
}

bool isStaticQuantize(const LowerState &state, const Node &node) {
  static const TargetInfo &quantizePerTensor = requireFunction("torch.quantize_per_tensor");
  if (!isFunctionCall(&node, quantizePerTensor) || node.getArgs().size() != 4)
    return false;
  return llvm::all_of(node.getArgs().slice(1, 2), [&](const Argument &arg) {
    Node *source = arg.getNodeOrNull();
    return arg.isNumber() || (source && source->is(Opcode::GetAttr) && state.model.getRoot().findTensorAt(source->getTargetText()));
  });
}

std::optional<StaticMatch> matchStaticPattern(const LowerState &state, Node &quantize) {
  if (!isStaticQuantize(state, quantize))
    return std::nullopt;
  StaticMatch match{&quantize, nullptr, quantize.getArg(0).getNodeOrNull()};
  if (match.ref && isRelu(state, *match.ref)) {
    match.relu = match.ref;
    match.ref = match.relu->getArgs().empty() ? nullptr : match.relu->getArg(0).getNodeOrNull();
  }
  if (!match.ref || state.prepared.isExplicitlyNone(*match.ref))
    return std::nullopt;
  // A float value that somebody else reads as well must stay (known_traps B11; an addition of mismatched ranges reads its operands so, B26).
  if (!match.ref->hasOneUser() || (match.relu && !match.relu->hasOneUser()))
    return std::nullopt;
  return match;
}

std::pair<Node *, Node *> getQParamNodes(const Node &quantize) {
  return {quantize.getArg(1).getNodeOrNull(), quantize.getArg(2).getNodeOrNull()};
}

OutputQParams getOutputQParams(const LowerState &state, const Node &quantize) {
  auto read = [&](const Argument &arg) -> double {
    if (arg.isNumber())
      return arg.getNumber();
    const Tensor *tensor = state.model.getRoot().findTensorAt(arg.getNode()->getTargetText());
    assert(tensor && "isStaticQuantize has seen that the attribute exists");
    return tensor->getElementAsDouble(0);
  };
  return {read(quantize.getArg(1)), static_cast<int64_t>(read(quantize.getArg(2)))};
}

void eraseIfUnused(Graph &graph, std::initializer_list<Node *> nodes) {
  for (Node *node : nodes)
    if (node && node->getUsers().empty() && !node->is(Opcode::Placeholder))
      graph.erase(node);
}

const LoweringRow *findRow(const LowerState &state, LoweringGroup group, const Node &node) {
  if (node.is(Opcode::CallFunction) || node.is(Opcode::CallMethod))
    return findLowering(group, *node.getTarget());
  if (!node.is(Opcode::CallModule))
    return nullptr;
  ModuleRef module = state.model.getModule(node);
  return module && module->getClass() ? findLowering(group, *module->getClass()) : nullptr;
}

void lowerShapeQueries(LowerState &state) {
  static const TargetInfo &getattrFunction = requireFunction("builtins.getattr");
  static const TargetInfo &sizeMethod = requireMethod("size");
  for (Node &node : state.model.getGraph().nodes()) {
    bool isQuery = isFunctionCall(&node, getattrFunction)
                       ? node.getArg(1).isString() && node.getArg(1).getString() == "shape"
                       : node.is(Opcode::CallMethod) && (node.getTarget() == &sizeMethod || node.getTargetText() == "shape");
    if (!isQuery)
      continue;
    Node *tensor = node.getArg(0).getNodeOrNull();
    if (isDequantize(tensor))
      node.setArg(0, tensor->getArg(0));
  }
}

/// A call of a reference module, fused with an activation or not.
static bool callsReferenceModule(const GraphModule &model, const Node &node) {
  ModuleRef module = node.is(Opcode::CallModule) ? model.getModule(node) : nullptr;
  if (module && isFusedFloatModule(*module))
    module = module->findChild("0");
  return module && isReferenceModule(*module);
}

/// Does its result go into codes, or did prepare grant it a quantized operator?
static bool wasToBeQuantized(const LowerState &state, const Node &node) {
  static const TargetInfo &quantizePerTensor = requireFunction("torch.quantize_per_tensor");
  return state.prepared.observedNodes.contains(node.getName()) ||
         llvm::any_of(node.getUsers(), [](const Node *user) { return isFunctionCall(user, quantizePerTensor); });
}

llvm::Error reportReferencePatterns(LowerState &state) {
  for (Node &node : state.model.getGraph().nodes()) {
    const bool readsCodes = llvm::any_of(node.getInputs(), [](const Node *input) { return isDequantize(input); });
    if (!callsReferenceModule(state.model, node) && !(readsCodes && wasToBeQuantized(state, node)))
      continue;
    llvm::StringRef reason = ": its input is not quantized";
    if (readsCodes)
      reason = " between dequantize and quantize: the backend has no quantized form of this call";
    else if (ModuleRef module = node.is(Opcode::CallModule) ? state.model.getModule(node) : nullptr; module && skipsIndices(*module))
      reason = ": the quantized form knows no padding_idx";
    Diagnostic why = error(node.getLoc(), "'{0}' ({1}) runs in float{2}", node.getName(), node.getTargetText(), reason)
                         .code("lower_reference")
                         .take();
    if (llvm::Error err = state.context.missed("lower", node, "quint8", std::move(why)))
      return err;
  }
  return llvm::Error::success();
}

/// Observers are what convert turns into quantize calls: before that there is nothing to lower.  Rule `lower_observed`.
static llvm::Error checkConverted(const GraphModule &model) {
  for (const Node &node : model.getGraph().nodes()) {
    ModuleRef module = node.is(Opcode::CallModule) ? model.getModule(node) : nullptr;
    if (module && isObserverModule(*module))
      return error(node.getLoc(), "'lower' got an observed model: '{0}' ({1}) is still an observer", node.getName(), module->getClassName())
          .note({}, "run 'convert-to-reference' before it, or 'convert', which does both")
          .code("lower_observed");
  }
  return llvm::Error::success();
}

/// Standalone modules have been converted to reference models of their own; each is lowered by itself.
static llvm::Error lowerModuleGraphs(GraphModule &model, PassContext &context, const LowerOptions &options) {
  std::vector<std::string> paths;
  for (const Node &node : model.getGraph().nodes())
    if (node.is(Opcode::CallModule) && !llvm::is_contained(paths, node.getTargetText().str()))
      if (ModuleRef module = model.getModule(node); module && hasGraph(*module))
        paths.push_back(node.getTargetText().str());
  for (const std::string &path : paths) {
    GraphModule inner = openModule(*model.getRoot().findModule(path));
    if (!inner.findMeta("prepared")) // not to be quantized: it was left untraced
      continue;
    if (llvm::Error err = lower(inner, context, options))
      return err;
    inner.removeMeta("engine");
    inner.removeMeta("dynamic");
    model.getRoot().setModule(path, closeModule(inner));
  }
  return llvm::Error::success();
}

/// Operands of modules and of arithmetic that stand by keyword take their places among the positional ones, where the patterns look for them
/// (qfx rule, known_traps B09).
static void placeOperands(LowerState &state) {
  for (Node &node : state.model.getGraph().mutableNodes()) {
    if (node.getKwargs().empty() || !(callsReferenceModule(state.model, node) || findRow(state, LoweringGroup::BinaryFunction, node)))
      continue;
    std::vector<Argument> operands = getOperands(node, state.model);
    Kwargs rest = node.getKwargs();
    for (const Argument &operand : llvm::drop_begin(operands, node.getArgs().size()))
      rest.erase(llvm::find_if(rest, [&](const auto &given) { return given.second == operand; }));
    if (rest.size() != node.getKwargs().size())
      node.setArgsAndKwargs(std::move(operands), std::move(rest));
  }
}

llvm::Error lower(GraphModule &model, PassContext &context, const LowerOptions &options) {
  if (model.findMeta("engine")) // lowered already: what is left in float was left on purpose
    return llvm::Error::success();
  if (llvm::Error err = checkConverted(model))
    return err;
  if (llvm::Error err = lowerModuleGraphs(model, context, options))
    return err;
  detachReads(model, isReferenceModule);
  LowerState state{model, {}, context, options};
  if (model.findMeta("prepared")) { // a reference model from elsewhere has no such state: nothing is skipped then
    auto prepared = PreparedState::load(model);
    if (!prepared)
      return prepared.takeError();
    state.prepared = std::move(*prepared);
  }
  placeOperands(state);
  for (auto step : {lowerStaticModules, lowerTwoInputModules, lowerDynamicModules, lowerWeightOnlyModules, lowerStaticFunctions,
                    lowerDynamicFunctions, lowerBinaryFunctions}) {
    if (llvm::Error err = context.checkCancelled("lower"))
      return err;
    if (llvm::Error err = step(state))
      return err;
  }
  lowerShapeQueries(state);
  if (llvm::Error err = lowerSpecialPatterns(state))
    return err;
  model.getGraph().eliminateDeadCode();
  if (llvm::Error err = foldWeights(state))
    return err;
  model.getGraph().eliminateDeadCode();
  std::vector<std::string> preserved = context.customConfig.convert.getPreservedAttributes();
  if (options.keepOriginalWeights)
    preserved.push_back(kOriginalWeights.str());
  dropUnreferencedMembers(model, preserved);
  if (llvm::Error err = reportReferencePatterns(state))
    return err;
  PreparedState::drop(model);
  model.setMeta("engine", Argument(context.engine));
  if (options.dynamic == DynamicRange::PerRow)
    model.setMeta("dynamic", Argument("per-row"));
  return llvm::Error::success();
}

namespace {
/// `lower{dynamic=per-row}`.
class LowerPass final : public Pass {
public:
  explicit LowerPass(LowerOptions options) : options(options) {}
  llvm::Expected<bool> run(GraphModule &model, PassContext &context) override {
    if (llvm::Error err = lower(model, context, options))
      return err;
    return true;
  }

private:
  LowerOptions options;
};
} // namespace

std::unique_ptr<Pass> createLower(const PassOptions &options) {
  LowerOptions parsed;
  if (options.getString("dynamic") == "per-row")
    parsed.dynamic = DynamicRange::PerRow;
  parsed.keepOriginalWeights = options.getBool("keep-original-weights");
  return std::make_unique<LowerPass>(parsed);
}

} // namespace qfx
