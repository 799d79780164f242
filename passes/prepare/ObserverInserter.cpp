// The insertion loop of torch/ao/quantization/fx/prepare.py, insert_observers_for_model.
#include "passes/prepare/ObserverInserter.h"

#include "backends/observe/Observer.h"
#include "ir/Text.h"
#include "passes/Pass.h"
#include "passes/WeightQParams.h"
#include "passes/config/ModuleFacts.h"
#include "passes/config/Operands.h"
#include "passes/prepare/DerivedObserver.h"

#include "llvm/Support/FormatVariadic.h"

namespace qfx {

/// Dtypes that a quantize step can have.
static bool isObservable(DType dtype) {
  switch (dtype) {
  case DType::QUInt8:
  case DType::QInt8:
  case DType::QInt32:
  case DType::Float16:
  case DType::UInt8:
  case DType::Int8:
  case DType::Int16:
  case DType::Int32:
  case DType::Float8E5M2:
  case DType::Float8E4M3FN:
    return true;
  default:
    return false;
  }
}

static std::optional<DType> getDTypeOf(const ObserverSpec *spec) {
  return spec ? std::optional<DType>(spec->getDType()) : std::nullopt;
}

/// Functions whose weight stays float (NON_QUANTIZABLE_WEIGHT_OPS).
static bool hasFloatWeight(const Node &node) {
  if (!node.is(Opcode::CallFunction))
    return false;
  llvm::StringRef name = node.getTarget()->getCanonical().text;
  return name == "torch.nn.functional.layer_norm" || name == "torch.nn.functional.group_norm" ||
         name == "torch.nn.functional.instance_norm";
}

static constexpr llvm::StringLiteral kObserverPrefix = "activation_post_process_";

ObserverInserter::ObserverInserter(GraphModule &model, const DTypePlan &plan, const PrepareCustomConfig &custom,
                                   const EqualizationChoices &equalization)
    : model(model), plan(plan), custom(custom), equalization(equalization) {
  const Module &root = model.getRoot();
  auto note = [&](llvm::StringRef name) {
    if (startsWith(name, kObserverPrefix))
      takenNames.insert(name);
  };
  for (const auto &attribute : root.getAttributes())
    note(attribute.first);
  for (const auto &parameter : root.getParameters())
    note(parameter.first);
  for (const auto &buffer : root.getBuffers())
    note(buffer.first);
  for (const auto &child : root.getChildren())
    note(child.first);
  for (const Node &node : model.getGraph().nodes())
    if (node.is(Opcode::CallModule))
      if (ModuleRef module = model.getModule(node); module && isObserverModule(*module))
        observersByPath[node.getTargetText()] = std::move(module);
}

ModuleRef ObserverInserter::getObserver(const Node &node) const {
  return node.is(Opcode::CallModule) ? observersByPath.lookup(node.getTargetText()) : nullptr;
}

void ObserverInserter::bindObserver(const Node &call, ModuleRef observer) {
  observersByPath[call.getTargetText()] = observer;
  model.getRoot().setModule(call.getTargetText(), std::move(observer));
}

const ObserverSpec *ObserverInserter::getOutputSpec(const Node &node) const {
  if (const Node *whole = wholes.lookup(&node))
    return plan.getDTypes(*whole).output;
  if (getObserver(node) && !node.getArgs().empty() && node.getArg(0).isNode())
    return plan.getDTypes(*node.getArg(0).getNode()).output;
  return plan.getDTypes(node).output;
}

llvm::Expected<Node *> ObserverInserter::insertObserver(Node &observed, const ObserverSpec &spec) {
  auto module = spec.build();
  if (!module)
    return module.takeError();
  (*module)->setLoc(observed.getLoc());
  std::string name;
  do
    name = llvm::formatv("{0}{1}", kObserverPrefix, nextObserver++);
  while (takenNames.contains(name));
  observersByPath[name] = *module;
  model.getRoot().setChild(name, std::move(*module));
  Graph::InsertPoint guard = Graph::InsertPoint::after(&observed);
  Node *call = model.getGraph().callModule(name, {&observed});
  call->setLoc(observed.getLoc());
  call->setType(observed.getType());
  return call;
}

llvm::Error ObserverInserter::run() {
  for (Node *node : model.getGraph().getNodeVector()) {
    llvm::Error err = plan.getContext().checkCancelled("prepare");
    if (err)
      return err;
    if (node->is(Opcode::Output))
      err = insertForOutput(*node);
    else if (!node->is(Opcode::Placeholder) && !node->is(Opcode::GetAttr))
      err = insertForNode(*node);
    if (err)
      return err;
  }
  return llvm::Error::success();
}

llvm::Error ObserverInserter::insertForNode(Node &node) {
  const QuantMatch *match = plan.findMatch(node);
  if (!match || !plan.findQConfig(node) || !plan.isSupported(*match, node))
    return llvm::Error::success();
  for (const Node *member : match->match.nodes)
    observedNodes.insert(member->getName());
  if (match->kind == MatchKind::Standalone) // its output is its own affair
    return insertStandaloneInputs(node, *match, *plan.findQConfig(node));
  if (&node == match->match.root) {
    const bool isBranch = isInBranch(node);
    if (llvm::Error err = insertInputObservers(node))
      return err;
    if (llvm::Error err = insertEqualization(node, isBranch))
      return err;
  }
  if (match->kind == MatchKind::CustomModule)
    return insertForCustomModule(node, *match);
  if (&node == match->match.anchor)
    return insertOutputObserver(node, *match);
  return llvm::Error::success();
}

/// What reaches the users of a value are codes, or will be when it is converted.  A standalone module gives codes only where its config says so,
/// though its dtypes are its qconfig's, as upstream's are.
bool ObserverInserter::givesCodes(const Node &value) const {
  if (const QuantMatch *match = plan.findMatch(value); match && match->kind == MatchKind::Standalone) {
    const PrepareCustomConfig *inner = match->standalone->prepareCustomConfig.get();
    return inner && llvm::is_contained(inner->getOutputQuantizedIndexes(), 0);
  }
  return getDTypeOf(getOutputSpec(value)) == DType::QUInt8;
}

llvm::Error ObserverInserter::insertStandaloneInputs(Node &node, const QuantMatch &match, const QConfig &qconfig) {
  const PrepareCustomConfig *inner = match.standalone->prepareCustomConfig.get();
  std::vector<Argument> args(node.getArgs().begin(), node.getArgs().end());
  for (size_t i = 0; i < args.size(); ++i) {
    Node *value = args[i].getNodeOrNull();
    if (!value || !inner || !llvm::is_contained(inner->getInputQuantizedIndexes(), static_cast<int64_t>(i)) || !qconfig.activation)
      continue;
    if (givesCodes(*value))
      continue;
    auto observed = reuseOrInsert(*value, *qconfig.activation);
    if (!observed)
      return observed.takeError();
    args[i] = std::move(*observed);
  }
  node.setArgsAndKwargs(std::move(args), node.getKwargs());
  return llvm::Error::success();
}

llvm::Expected<Argument> ObserverInserter::reuseOrInsert(Node &value, const ObserverSpec &spec) {
  for (Node *user : value.getUsers())
    if (ModuleRef existing = getObserver(*user))
      if (existing->getClass() == spec.observerClass && getObserverDType(*existing) == spec.getDType())
        return Argument(user);
  auto call = insertObserver(value, spec);
  if (!call)
    return call.takeError();
  return Argument(*call);
}

llvm::Error ObserverInserter::insertInputObservers(Node &node) {
  const NodeDTypes &dtypes = plan.getDTypes(node);
  std::vector<Argument> args;
  for (const Argument &arg : node.getArgs()) {
    auto observed = observeArgument(node, dtypes, arg);
    if (!observed)
      return observed.takeError();
    args.push_back(std::move(*observed));
  }
  Kwargs kwargs;
  for (const auto &[key, value] : node.getKwargs()) {
    auto observed = observeArgument(node, dtypes, value);
    if (!observed)
      return observed.takeError();
    kwargs.emplace_back(key, std::move(*observed));
  }
  node.setArgsAndKwargs(std::move(args), std::move(kwargs));
  return llvm::Error::success();
}

llvm::Expected<Argument> ObserverInserter::observeArgument(Node &node, const NodeDTypes &dtypes, const Argument &arg) {
  if (arg.isSequence()) {
    Argument::Elements elements;
    for (const Argument &element : arg.getElements()) {
      auto observed = observeArgument(node, dtypes, element);
      if (!observed)
        return observed.takeError();
      elements.push_back(std::move(*observed));
    }
    return arg.getKind() == Argument::Kind::List ? Argument::list(std::move(elements))
                                                 : Argument::tuple(std::move(elements));
  }
  Node *value = arg.getNodeOrNull();
  if (!value)
    return arg;

  const ObserverSpec *spec = dtypes.input;
  if (dtypes.isWeight(node, arg))
    spec = hasFloatWeight(node) ? nullptr : dtypes.hasParameterDTypes ? dtypes.weight : &plan.getFloatSpec();
  else if (dtypes.isBias(node, arg))
    spec = dtypes.hasParameterDTypes ? dtypes.bias : &plan.getFloatSpec();
  std::optional<DType> want = getDTypeOf(spec), have = getDTypeOf(getOutputSpec(*value));

  bool needsObserver = false;
  if (spec && spec->isDynamic()) {
    if (!have || !isObservable(*want))
      return error(node.getLoc(), "'{0}' has a dynamic qconfig, but '{1}' is not a float tensor", node.getName(),
                   value->getName())
          .code("dynamic_argument");
    std::vector<Argument> operands = getOperands(node, model);
    needsObserver = !operands.empty() && operands.front() == arg;
  } else if (!dtypes.reuseInput && want && isObservable(*want)) {
    needsObserver = have && (isObservable(*have) || *have == DType::Float32) && *have != *want;
  }
  if (!needsObserver)
    return arg;

  bool isWeight = spec == dtypes.weight && dtypes.isWeight(node, arg);
  return reuseOrInsert(*value, isWeight ? makeWeightSpec(*spec, node.getTargetText()) : *spec);
}

llvm::Error ObserverInserter::insertOutputObserver(Node &node, const QuantMatch &match) {
  const NodeDTypes &dtypes = plan.getDTypes(node);
  const ObserverSpec *spec = dtypes.output;
  if (!spec || spec->isDynamic() || !isObservable(spec->getDType()))
    return llvm::Error::success();
  auto call = insertObserver(node, *spec);
  if (!call)
    return call.takeError();
  node.replaceAllUsesWith(*call, [&](Node *user) { return user != *call; });

  bool isQuantizedInput = (spec->getDType() == DType::QUInt8 || spec->getDType() == DType::UInt8) &&
                          !node.getArgs().empty() && node.getArg(0).isNode() &&
                          node.getArg(0).getNode()->is(Opcode::Placeholder);
  bool isScalar = dtypes.shareInput && match.match.entry && !match.match.entry->numTensorArgsToObservationType.empty();
  if (isScalar && isQuantizedInput)
    match.match.root->setMeta(kOwnQParamsMeta, true);
  if (!(dtypes.shareInput && !isQuantizedInput) && !dtypes.reuseInput)
    return llvm::Error::success();
  auto shared = shareObservers(node, match, *spec, isScalar);
  if (!shared)
    return shared.takeError();
  if (!*shared)
    removeOutputObservers(node);
  return llvm::Error::success();
}

void ObserverInserter::removeOutputObservers(Node &node) {
  std::vector<Node *> calls(node.getUsers().begin(), node.getUsers().end());
  for (Node *call : calls) {
    assert(getObserver(*call) && "after rerouting only observers use the node");
    call->replaceAllUsesWith(&node);
    model.getGraph().erase(call);
  }
}

static bool isSupportedLeaf(const Argument &value) {
  if (value.isNode() || value.isNone())
    return true;
  if (value.isSequence())
    return llvm::all_of(value.getElements(), isSupportedLeaf);
  if (value.isDict())
    return llvm::all_of(value.getEntries(), [](const auto &entry) { return isSupportedLeaf(entry.second); });
  return false;
}

/// Input and output constructors of a node are one, so no graph output lacks an observer; what remains is upstream's
/// check of the leaves and that the output moves to the end of its inputs' user lists.
llvm::Error ObserverInserter::insertForOutput(Node &output) {
  for (const Argument &arg : output.getArgs())
    if (!isSupportedLeaf(arg))
      return error(output.getLoc(),
                   "the graph returns '{0}': only values of nodes, None, and lists, tuples and dicts of them can be "
                   "observed",
                   toString(arg, ArgumentStyle::Repr))
          .code("output_leaf");
  output.setArgs(std::vector<Argument>(output.getArgs().begin(), output.getArgs().end()));
  return llvm::Error::success();
}

} // namespace qfx
