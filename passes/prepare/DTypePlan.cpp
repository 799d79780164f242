// Steps 1 to 3 of workflow 4.3.
#include "passes/prepare/DTypePlan.h"

#include "backends/config/QConfigPredicates.h"
#include "ir/ModuleGraph.h"
#include "ir/Ops.h"
#include "passes/GraphUtils.h"
#include "passes/Pass.h"
#include "passes/config/ModuleFacts.h"
#include "passes/config/Operands.h"
#include "passes/prepare/BackendSupport.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace qfx {

ObserverSpec makePlaceholderSpec(DType dtype) {
  ObserverSpec spec;
  spec.observerClass = &requireModuleClass("torch.ao.quantization.observer.PlaceholderObserver");
  spec.isPartial = true;
  spec.keywords.emplace_back("dtype", dtype);
  return spec;
}

static bool isArgumentAt(const Node &node, std::optional<unsigned> index, llvm::StringRef keyword,
                         const Argument &arg) {
  if (index && *index < node.getArgs().size() && node.getArg(*index).isNode() &&
      node.getArg(*index).getNode() == arg.getNode())
    return true;
  const Argument *value = node.getKwarg(keyword);
  return value && value->isNode() && value->getNode() == arg.getNode();
}

bool NodeDTypes::isWeight(const Node &node, const Argument &arg) const {
  return arg.isNode() && isArgumentAt(node, weightIndex, "weight", arg);
}

bool NodeDTypes::isBias(const Node &node, const Argument &arg) const {
  return arg.isNode() && isArgumentAt(node, biasIndex, "bias", arg);
}

llvm::Error DTypePlan::resolveQConfigs(const QConfigMapping &mapping) {
  auto resolver = QConfigResolver::create(mapping);
  if (!resolver)
    return resolver.takeError();
  for (const Node &node : model.getGraph().nodes())
    if (std::optional<ResolvedQConfig> resolved = resolver->resolve(node, model))
      qconfigs.emplace(&node, std::move(*resolved));
  if (mapping.getGlobal() && mapping.getGlobal()->activation && !mapping.getGlobal()->activation->isFixedQParams())
    measuredSpec = mapping.getGlobal()->activation;
  if (context.splitOutputs)
    splitOutputs();
  return llvm::Error::success();
}

/// QFX (known_traps B08): such a cat or stack, and what moves its elements behind it, works on floats, so that no operand has to take
/// another's range.
void DTypePlan::splitOutputs() {
  llvm::DenseSet<const Node *> leaving; // nodes whose every use only moves elements on the way out of the model
  std::vector<const Node *> joins;
  for (const Node &node : llvm::reverse(model.getGraph().nodes())) {
    bool movesOne = node.getTarget() && node.getTarget()->getOp().has(Traits::ViewsData) && !isJoin(node);
    bool leaves = !node.getUsers().empty() && llvm::all_of(node.getUsers(), [&](const Node *user) {
      return user->is(Opcode::Output) || leaving.contains(user);
    });
    if (leaves && movesOne)
      leaving.insert(&node);
    if (leaves && isJoin(node))
      joins.push_back(&node);
  }
  auto leaveFloat = [&](const Node &node) {
    auto it = qconfigs.find(&node);
    if (it != qconfigs.end())
      it->second = ResolvedQConfig{std::nullopt, "--split-outputs: it joins values that leave the model"};
  };
  for (const Node *join : joins) {
    std::vector<const Node *> todo = {join};
    while (!todo.empty()) {
      const Node *node = todo.back();
      todo.pop_back();
      leaveFloat(*node);
      for (const Node *user : node->getUsers())
        if (!user->is(Opcode::Output))
          todo.push_back(user);
    }
  }
}

void DTypePlan::findWholeModules(const PrepareCustomConfig &custom) {
  for (Node &node : model.getGraph().nodes()) {
    ModuleRef module = node.is(Opcode::CallModule) ? model.getModule(node) : nullptr;
    if (!module)
      continue;
    OperatorName moduleClass = OperatorName::ofClass(*module);
    QuantMatch found;
    found.match.anchor = found.match.root = &node;
    found.match.nodes = {&node};
    if (hasGraph(*module))
      found.standalone = custom.findStandalone(node.getTargetText(), moduleClass);
    if (found.standalone)
      found.kind = MatchKind::Standalone;
    else if (custom.getFloatToObserved().find(moduleClass))
      found.kind = MatchKind::CustomModule;
    else
      continue;
    matchOf[&node] = matches.size();
    matches.push_back(std::move(found));
  }
}

llvm::Error DTypePlan::findMatches(const PrepareCustomConfig &custom) {
  Matcher matcher(model, backend, MatchPurpose::Quantize);
  for (Match &match : matcher.scan()) {
    QuantMatch found;
    found.observation = match.entry->observationType;
    if (!match.entry->numTensorArgsToObservationType.empty()) {
      unsigned count = tensorArguments.countTensorOperands(*match.root);
      auto it = match.entry->numTensorArgsToObservationType.find(count);
      if (it == match.entry->numTensorArgsToObservationType.end())
        return error(match.root->getLoc(), "prepare: no observation type for {0} tensor arguments in pattern {1}",
                     count, match.entry->pattern.toString())
            .code("operand_count");
      found.observation = it->second;
    }
    found.match = std::move(match);
    for (const Node *node : found.match.nodes)
      matchOf[node] = matches.size();
    matches.push_back(std::move(found));
  }
  findWholeModules(custom);
  return llvm::Error::success();
}

const NodeDTypes &DTypePlan::getDTypes(const Node &node) const {
  auto it = dtypes.find(&node);
  assert(it != dtypes.end() && "every node of the graph before insertion has dtypes");
  return it->second;
}

const QuantMatch *DTypePlan::findMatch(const Node &node) const {
  auto it = matchOf.find(&node);
  return it == matchOf.end() ? nullptr : &matches[it->second];
}

const QConfig *DTypePlan::findQConfig(const Node &node) const {
  auto it = qconfigs.find(&node);
  return it == qconfigs.end() || !it->second.qconfig ? nullptr : &*it->second.qconfig;
}

bool DTypePlan::isSupported(const QuantMatch &match, const Node &node) const {
  return !findSupportFailure(match.match, findQConfig(node),
                             [&](const Node &other) -> const NodeDTypes & { return getDTypes(other); });
}

NodeDTypes DTypePlan::makeFloat() const {
  NodeDTypes result;
  result.input = result.output = &floatSpec;
  return result;
}

static const ObserverSpec *pointTo(const std::optional<ObserverSpec> &spec) { return spec ? &*spec : nullptr; }

NodeDTypes DTypePlan::makeQuantized(const Node &node, const QuantMatch &match, const QConfig &qconfig) {
  NodeDTypes result;
  if (match.observation == ObservationType::InputOutputNotObserved || tensorArguments.carriesNoTensor(node))
    return result;
  result.input = result.output = pointTo(qconfig.activation);
  // QFX: fixed parameters are the result's.  An operand that nothing has quantized yet is measured, as the global qconfig says; upstream takes
  // it into the result's range and cuts it off (sigmoid of an input, softmax of a quotient).
  if (qconfig.activation && qconfig.activation->isFixedQParams() && measuredSpec && measuredSpec->getDType() == qconfig.activation->getDType())
    result.input = &*measuredSpec;
  result.weight = pointTo(qconfig.weight);
  result.hasParameterDTypes = true;
  bool isStaticHalf = qconfig.activation && qconfig.weight && qconfig.activation->getDType() == DType::Float16 &&
                      qconfig.weight->getDType() == DType::Float16 && !qconfig.activation->isDynamic();
  result.bias = isStaticHalf ? &halfSpec : &floatSpec;
  if (node.is(Opcode::CallFunction))
    if (const BackendPatternConfig *own = backend.findSingle(OperatorName::of(*node.getTarget()))) {
      auto find = [&](const char *key) -> std::optional<unsigned> {
        auto it = own->inputTypeToIndex.find(key);
        return it == own->inputTypeToIndex.end() ? std::nullopt : std::optional<unsigned>(it->second);
      };
      result.weightIndex = find("weight");
      result.biasIndex = find("bias");
    }
  result.reuseInput = isReuseInputQConfig(qconfig);
  result.shareInput = match.observation == ObservationType::OutputShareObserverWithInput;
  return result;
}

llvm::Error DTypePlan::decide(llvm::ArrayRef<int64_t> inputQuantizedIndexes, bool strictModuleWeights) {
  floatSpec = makePlaceholderSpec(DType::Float32);
  halfSpec = makePlaceholderSpec(DType::Float16);
  quint8Spec = makePlaceholderSpec(DType::QUInt8);
  for (const Node &node : model.getGraph().nodes())
    dtypes[&node] = makeFloat();
  inferValueTypes();
  applyMatchQConfigs();
  applyNodeFacts(inputQuantizedIndexes);
  if (llvm::Error err = resetUnsupported(strictModuleWeights))
    return err;
  return remarkOnUnmatched();
}

/// Step 1: the anchor's qconfig sets the whole pattern, as upstream does.
void DTypePlan::applyMatchQConfigs() {
  for (const QuantMatch &match : matches)
    if (const QConfig *qconfig = findQConfig(*match.match.anchor))
      for (const Node *node : match.match.nodes)
        if (findMatch(*node) == &match) // else a custom or standalone module
          dtypes[node] = makeQuantized(*node, match, *qconfig);
}

namespace {
/// Arguments of methods that are known not to be float tensors (workflow 4.3 step 2).
struct NonFloatArguments {
  llvm::StringLiteral method;
  unsigned first;
  unsigned count; ///< 0: all from `first` on
};
} // namespace

static constexpr NonFloatArguments kNonFloatArguments[] = {
    {llvm::StringLiteral("masked_fill"), 1, 2}, {llvm::StringLiteral("permute"), 1, 0},
    {llvm::StringLiteral("repeat"), 1, 0},      {llvm::StringLiteral("reshape"), 1, 0},
    {llvm::StringLiteral("size"), 1, 1},        {llvm::StringLiteral("transpose"), 1, 0},
    {llvm::StringLiteral("unsqueeze"), 1, 1},   {llvm::StringLiteral("unsqueeze_"), 1, 1},
    {llvm::StringLiteral("view"), 1, 0},
};

/// Step 2.
void DTypePlan::applyNodeFacts(llvm::ArrayRef<int64_t> inputQuantizedIndexes) {
  int64_t inputIndex = 0;
  for (const Node &node : model.getGraph().nodes()) {
    if (node.is(Opcode::Placeholder)) {
      if (llvm::is_contained(inputQuantizedIndexes, inputIndex++))
        dtypes[&node].input = dtypes[&node].output = &quint8Spec;
    } else if (!node.is(Opcode::GetAttr) && !node.is(Opcode::Output) && tensorArguments.carriesNoTensor(node)) {
      dtypes[&node] = NodeDTypes();
    }
  }
  for (const Node &node : model.getGraph().nodes()) {
    if (!node.is(Opcode::CallMethod))
      continue;
    for (const NonFloatArguments &rule : kNonFloatArguments) {
      if (node.getTargetText() != rule.method)
        continue;
      size_t end = rule.count ? rule.first + rule.count : node.getArgs().size();
      for (size_t i = rule.first; i < std::min(end, node.getArgs().size()); ++i) {
        const Argument &arg = node.getArg(i);
        llvm::ArrayRef<Argument> elements = arg.isSequence() ? arg.getElements() : llvm::ArrayRef<Argument>(arg);
        for (const Argument &element : elements)
          if (Node *input = element.getNodeOrNull())
            propagateNonFloat(*input);
      }
    }
  }
}

/// The value is an integer, a boolean or a plain number, and so is what a sharing op made it from.
void DTypePlan::propagateNonFloat(const Node &node) {
  const Node *current = &node;
  while (current) {
    dtypes[current].input = dtypes[current].output = nullptr;
    const QuantMatch *match = findMatch(*current);
    if (!match || match->observation != ObservationType::OutputShareObserverWithInput || current->getArgs().empty())
      return;
    current = current->getArg(0).getNodeOrNull();
  }
}

std::string describeDTypes(const QConfig &qconfig) {
  auto name = [](const std::optional<ObserverSpec> &spec) -> std::string {
    if (!spec)
      return "none";
    return getDTypeInfo(spec->getDType()).torchName.str() + (spec->isDynamic() ? " dynamic" : "");
  };
  return llvm::formatv("activation {0}, weight {1}", name(qconfig.activation), name(qconfig.weight));
}

Diagnostic DTypePlan::makeReason(const Node &node, std::string reason, llvm::StringRef code) const {
  Diagnostic why;
  why.loc = node.getLoc();
  why.code = code.str();
  why.message = llvm::formatv("'{0}' not observed: {1}", node.getName(), reason);
  auto it = qconfigs.find(&node);
  if (it != qconfigs.end() && !it->second.rule.empty()) {
    Diagnostic note;
    note.severity = Severity::Note;
    ModuleRef module = node.is(Opcode::CallModule) ? model.getModule(node) : nullptr;
    if (module)
      note.loc = module->getLoc();
    note.message = llvm::formatv("qconfig for '{0}' comes from {1}", node.getName(), it->second.rule);
    why.notes.push_back(std::move(note));
  }
  return why;
}

void DTypePlan::inferValueTypes() {
  if (auto inferred = inferTypes(model))
    types = std::move(*inferred);
  else
    llvm::consumeError(inferred.takeError());
}

const TensorType *DTypePlan::findNonFloatType(const Node &node) const {
  auto it = types.find(&node);
  const TensorType *type = it == types.end() ? nullptr : it->second.getTensor();
  DTypeKind kind = type ? getDTypeInfo(type->dtype).kind : DTypeKind::Float;
  return kind == DTypeKind::Integer || kind == DTypeKind::Bool ? type : nullptr;
}

/// QFX: an operand that an observer would watch though it can never be quantized (x * mask); upstream's result does not run.
std::optional<SupportFailure> DTypePlan::findNonFloatOperand(const QuantMatch &match) const {
  const ObserverSpec *input = getDTypes(*match.match.root).input;
  if (!input || input->getDType() == DType::Float32)
    return std::nullopt;
  const Node *misfit = nullptr;
  for (const Argument &operand : getOperands(*match.match.root, model))
    operand.forEachNode([&](Node *value) {
      if (!misfit && getDTypes(*value).output && findNonFloatType(*value))
        misfit = value;
    });
  if (!misfit)
    return std::nullopt;
  return SupportFailure{llvm::formatv("its operand '{0}' is {1}, and only float tensors are quantized", misfit->getName(),
                                      toString(*findNonFloatType(*misfit))),
                        "operand_dtype"};
}

/// Step 3.
llvm::Error DTypePlan::resetUnsupported(bool strictModuleWeights) {
  auto lookup = [&](const Node &other) -> const NodeDTypes & { return getDTypes(other); };
  for (QuantMatch &match : matches) {
    if (match.observation == ObservationType::InputOutputNotObserved || findMatch(*match.match.anchor) != &match)
      continue;
    const Node &anchor = *match.match.anchor;
    std::optional<SupportFailure> failure;
    for (const Node *node : match.match.nodes)
      if ((failure = findSupportFailure(match.match, findQConfig(*node), lookup, &match.refusals)))
        break;
    const QConfig *qconfig = findQConfig(anchor);
    // A module's weight is no argument, so the test above has not seen its bounds (backend_config 8.4).
    if (!failure && qconfig && match.kind == MatchKind::Pattern && match.match.root->is(Opcode::CallModule)) {
      std::optional<SupportFailure> weightFailure;
      for (const DTypeConfig &config : match.match.entry->dtypeConfigs) {
        weightFailure = findConstraintFailure(qconfig, config.weight, /*isActivation=*/false);
        if (!weightFailure)
          break;
      }
      if (weightFailure && strictModuleWeights)
        failure = std::move(weightFailure);
      else if (weightFailure)
        context.warn(makeReason(*match.match.root, "weight range exceeds the backend's: " + weightFailure->reason,
                                "module_weight_range"));
    }
    if (!failure)
      failure = findNonFloatOperand(match);
    if (!failure)
      continue;
    match.isSupported = false;
    bool hadTensors = getDTypes(anchor).output && !findNonFloatType(anchor);
    for (const Node *node : match.match.nodes) {
      dtypes[node] = makeFloat();
      if (tensorArguments.carriesNoTensor(*node))
        dtypes[node] = NodeDTypes();
    }
    if (!qconfig || !hadTensors)
      continue;
    Diagnostic why = makeReason(anchor, failure->reason, failure->code);
    if (failure->isConstraint)
      context.warn(why);
    if (llvm::Error err = missed(anchor, *qconfig, std::move(why)))
      return err;
  }
  return llvm::Error::success();
}

std::string DTypePlan::getReason(const Node &node) const { return reasons.lookup(&node); }

llvm::Error DTypePlan::missed(const Node &node, const QConfig &qconfig, Diagnostic why) {
  reasons[&node] = why.message;
  return context.missed("prepare", node, describeDTypes(qconfig), std::move(why));
}

void DTypePlan::declineSilently(const Node &node, std::string message, llvm::StringRef code) {
  reasons[&node] = message;
  if (!context.onRemark)
    return;
  Remark remark;
  remark.pass = "prepare";
  remark.node = node.getName();
  remark.granted = "float";
  remark.diagnostic = makeReason(node, std::move(message), code);
  remark.diagnostic.severity = Severity::Remark;
  context.onRemark(remark);
}

/// Calls that no pattern of the backend covers, and those whose qconfig is none.
llvm::Error DTypePlan::remarkOnUnmatched() {
  for (const Node &node : model.getGraph().nodes()) {
    if (node.is(Opcode::Placeholder) || node.is(Opcode::GetAttr) || node.is(Opcode::Output) ||
        qconfigs.find(&node) == qconfigs.end())
      continue;
    if (tensorArguments.carriesNoTensor(node))
      continue;
    const QConfig *qconfig = findQConfig(node);
    const QuantMatch *match = findMatch(node);
    if (match && match->observation == ObservationType::InputOutputNotObserved)
      continue;
    if (!qconfig) {
      declineSilently(node, "its qconfig is none", "qconfig_none");
    } else if (ModuleRef module = !match && node.is(Opcode::CallModule) ? model.getModule(node) : nullptr; module && hasGraph(*module)) {
      declineSilently(node, "it is one call that tracing did not go into, and not a standalone module", "untraced");
    } else if (!match) {
      if (node.getTarget() && node.getTarget()->getOp().has(Traits::HostValue))
        continue;
      Diagnostic why = makeReason(
          node,
          llvm::formatv("no pattern of the backend '{0}' matches '{1}'", backend.getName(), getCalledName(node, model)),
          "no_pattern");
      if (llvm::Error err = missed(node, *qconfig, std::move(why)))
        return err;
    } else if (!findQConfig(*match->match.anchor)) {
      declineSilently(
          node, llvm::formatv("'{0}', the last node of its pattern, has no qconfig", match->match.anchor->getName()),
          "qconfig_of_pattern");
    }
  }
  return llvm::Error::success();
}

} // namespace qfx
