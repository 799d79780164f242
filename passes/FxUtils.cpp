// fx.utils on qfx's graph.
#include "passes/FxUtils.h"

#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "passes/GraphUtils.h"
#include "passes/prepare/TensorArguments.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace qfx {

std::vector<size_t> getAllNodeArgsExceptFirst(const Node &node) {
  std::vector<size_t> indexes;
  for (size_t i = 1; i < node.getArgs().size(); ++i)
    indexes.push_back(i);
  return indexes;
}

std::function<std::vector<size_t>(const Node &)> returnArgList(std::vector<size_t> indices) {
  return [indices = std::move(indices)](const Node &node) {
    std::vector<size_t> present;
    llvm::copy_if(indices, std::back_inserter(present), [&](size_t index) { return index < node.getArgs().size(); });
    return present;
  };
}

bool haveAllNodeArgsNoTensors(const Node &node, const GraphModule &model) { return TensorArguments(model).carriesNoTensor(node); }

std::optional<std::string> getUniqueDevice(const Module &module) {
  bool hasTensors = !module.getParameters().empty() || !module.getBuffers().empty();
  module.forEachModule([&](const std::string &, const ModuleRef &child) {
    hasTensors |= !child->getParameters().empty() || !child->getBuffers().empty();
  });
  return hasTensors ? std::optional<std::string>("cpu") : std::nullopt;
}

std::optional<std::vector<Node *>> collectProducerNodes(Node &node) {
  static const TargetInfo &getattr = requireFunction("builtins.getattr");
  std::vector<Node *> producers = {&node}, frontier = {&node};
  while (!frontier.empty()) {
    Node *current = frontier.back();
    frontier.pop_back();
    auto visit = [&](const Argument &arg) {
      Node *input = arg.getNodeOrNull();
      if (!input)
        return true;
      if (input->is(Opcode::Placeholder))
        return false;
      producers.push_back(input);
      if (!isFunctionCall(input, getattr))
        frontier.push_back(input);
      return true;
    };
    for (const Argument &arg : current->getArgs())
      if (!visit(arg))
        return std::nullopt;
    for (const auto &[key, value] : current->getKwargs())
      if (!visit(value))
        return std::nullopt;
  }
  return producers;
}

GraphModule graphModuleFromProducerNodes(const GraphModule &model, llvm::ArrayRef<Node *> producers) {
  assert(!producers.empty() && "list of producer nodes can not be empty");
  auto graph = std::make_unique<Graph>();
  llvm::DenseMap<const Node *, Node *> copies;
  for (Node *producer : llvm::reverse(producers)) // later entries are computed earlier
    copies[producer] = graph->copyNode(*producer, [&](Node *operand) -> Argument { return copies.lookup(operand); });
  graph->output(copies.lookup(producers.front()));
  GraphModule result(model.getRoot().shallowCopy(), std::move(graph));
  result.dropUnreferencedMembers();
  return result;
}

Node *createGetattrFromValue(GraphModule &model, llvm::StringRef prefix, Tensor value) {
  return createGetAttrFromTensor(model, prefix, std::move(value));
}
Node *createGetattrFromValue(GraphModule &model, llvm::StringRef prefix, double value) {
  return createGetAttrFromTensor(model, prefix, Tensor::of<float>(DType::Float32, {}, {static_cast<float>(value)}));
}
Node *createGetattrFromValue(GraphModule &model, llvm::StringRef prefix, int64_t value) {
  return createGetAttrFromTensor(model, prefix, Tensor::of<int64_t>(DType::Int64, {}, {value}));
}

std::function<std::string(const Module &)> getNewAttrNameWithPrefix(std::string prefix) {
  return [prefix = std::move(prefix)](const Module &module) { return getNewAttrName(module, prefix); };
}

Node *createNodeFromOldNodePreserveMeta(llvm::function_ref<Node *()> create, const Node &old) {
  Node *node = create();
  node->setLoc(old.getLoc());
  return node;
}

ModuleClassList getCustomModuleClassKeys(llvm::ArrayRef<ModuleMapping> mappings) {
  ModuleClassList classes;
  for (const ModuleMapping &mapping : mappings)
    for (const auto &entry : mapping.getEntries())
      if (!llvm::is_contained(classes, entry.first))
        classes.push_back(entry.first);
  return classes;
}

SkippedModules getSkippedModuleNameAndClasses(const PrepareCustomConfig &config, bool isStandaloneModule) {
  SkippedModules skipped{config.getNonTraceableModuleNames(), config.getNonTraceableModuleClasses()};
  if (isStandaloneModule)
    return skipped;
  for (const auto &entry : config.getStandaloneModuleNames())
    skipped.names.push_back(entry.first);
  for (const auto &entry : config.getStandaloneModuleClasses())
    skipped.classes.push_back(entry.first);
  for (const auto &entry : config.getFloatToObserved().getEntries())
    skipped.classes.push_back(entry.first);
  return skipped;
}

llvm::Expected<const TargetInfo *> getLinearPrepackOpForDType(DType dtype) {
  if (dtype == DType::Float16)
    return &requireFunction("torch.ops.quantized.linear_prepack_fp16");
  if (dtype == DType::QInt8)
    return &requireFunction("torch.ops.quantized.linear_prepack");
  return error({}, "a linear weight is packed as qint8 or float16, not as {0}", getDTypeInfo(dtype).torchName).code("prepack_dtype");
}

llvm::Expected<const TargetInfo *> getQConvPrepackOp(llvm::StringRef convFunction) {
  std::vector<std::string> known;
  const TargetInfo *row = findFunction(convFunction);
  for (const char *name : {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}) {
    known.push_back(std::string("torch.nn.functional.") + name);
    if (row && &row->getCanonical() == &requireFunction(known.back()).getCanonical())
      return &requireFunction(std::string("torch.ops.quantized.") + name + "_prepack");
  }
  return error({}, "'{0}' has no prepack operator: it is no convolution{1}", convFunction, didYouMean(convFunction, known))
      .code("prepack_function");
}

namespace {
struct NonObservableRow {
  llvm::StringLiteral method, type;
  unsigned first;
  bool isRest; ///< all positions from `first` on
};
} // namespace

static constexpr NonObservableRow kNonObservable[] = {
    {"masked_fill", "bool", 1, false}, {"masked_fill", "float", 2, false}, {"permute", "int", 1, true}, {"repeat", "int", 1, true},
    {"reshape", "int", 1, true},       {"size", "int", 1, false},          {"transpose", "int", 1, true}, {"unsqueeze", "int", 1, false},
    {"unsqueeze_", "int", 1, false},   {"view", "int", 1, true},
};

std::vector<NonObservableArgs> getNonObservableArgIndexesAndTypes(const Node &node) {
  std::vector<NonObservableArgs> result;
  if (!node.is(Opcode::CallMethod))
    return result;
  for (const NonObservableRow &row : kNonObservable)
    if (node.getTargetText() == row.method)
      result.push_back({row.type.str(), row.isRest ? getAllNodeArgsExceptFirst(node) : returnArgList({row.first})(node)});
  return result;
}

Node *maybeGetNextModule(const Node &node, const GraphModule &model, const TargetInfo *moduleClass, const TargetInfo *function) {
  for (Node *user : node.getUsers()) {
    if (user->is(Opcode::CallModule) && moduleClass) {
      ModuleRef module = model.getModule(*user);
      if (module && module->isA(*moduleClass))
        return user;
    }
    if (function && isFunctionCall(user, *function))
      return user;
  }
  return nullptr;
}

static bool isOperand(const Node &node, const Node &arg, const BackendConfig &backend, const char *name) {
  if (node.is(Opcode::CallFunction))
    if (const BackendPatternConfig *entry = backend.findSingle(OperatorName::of(*node.getTarget()))) {
      auto index = entry->inputTypeToIndex.find(name);
      if (index != entry->inputTypeToIndex.end() && index->second < node.getArgs().size() &&
          node.getArg(index->second).getNodeOrNull() == &arg)
        return true;
    }
  const Argument *keyword = node.getKwarg(name);
  return keyword && keyword->getNodeOrNull() == &arg;
}

bool isNodeArgWeight(const Node &node, const Node &arg, const BackendConfig &backend) { return isOperand(node, arg, backend, "weight"); }
bool isNodeArgBias(const Node &node, const Node &arg, const BackendConfig &backend) { return isOperand(node, arg, backend, "bias"); }

bool isNonQuantizableWeightOp(const Node &node) {
  for (const char *name : {"torch.nn.functional.layer_norm", "torch.nn.functional.group_norm", "torch.nn.functional.instance_norm"})
    if (isFunctionCall(&node, requireFunction(name)))
      return true;
  return false;
}

} // namespace qfx
