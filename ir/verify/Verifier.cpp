// Checks a model against the rules of docs/IR.md and collects every finding.
#include "ir/verify/Verifier.h"

#include "ir/Bind.h"
#include "ir/GraphModule.h"
#include "ir/InferGraph.h"
#include "ir/ModuleGraph.h"
#include "ir/OpKind.h"
#include "ir/Text.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cctype>

namespace qfx {

static llvm::StringRef describeSlotType(SlotType type) {
  switch (type) {
  case SlotType::Tensor:
    return "a tensor";
  case SlotType::TensorList:
    return "a list of tensors";
  case SlotType::Int:
    return "an integer";
  case SlotType::Ints:
    return "an integer or a sequence of integers";
  case SlotType::Float:
    return "a number";
  case SlotType::Number:
    return "a number";
  case SlotType::Bool:
    return "True or False";
  case SlotType::String:
    return "a string";
  case SlotType::DType:
    return "a dtype";
  case SlotType::Any:
    return "any value";
  }
  return "a value";
}

/// A slot that takes None for all its ints takes it for single ones as well: AdaptiveAvgPool2d((None, 2)).
static bool fits(const SlotInfo &slot, const Argument &value) {
  switch (slot.type) {
  case SlotType::Tensor:
  case SlotType::TensorList:
    return false; // an attribute is no tensor
  case SlotType::Int:
    return value.isInt();
  case SlotType::Ints:
    return value.isInt() ||
           (value.isSequence() && llvm::all_of(value.getElements(), [&](const Argument &one) {
              return one.isInt() || (one.isNone() && slot.acceptsNone);
            }));
  case SlotType::Float:
    return value.isFloat() || value.isInt();
  case SlotType::Number:
    return value.isNumber();
  case SlotType::Bool:
    return value.isBool();
  case SlotType::String:
    return value.isString();
  case SlotType::DType:
    return value.isDType();
  case SlotType::Any:
    return true;
  }
  return false;
}

llvm::Error checkAttribute(llvm::StringRef className, const SlotInfo &slot, const Argument &value, const Location &loc) {
  if (fits(slot, value) || (value.isNone() && slot.acceptsNone))
    return llvm::Error::success();
  return error(loc, "attribute '{0}' of '{1}' is {2}{3}, got {4}", slot.name, className, describeSlotType(slot.type),
               slot.acceptsNone ? " or None" : "", toString(value, ArgumentStyle::Qfx))
      .code("module_attr");
}

/// Calls of modules with a graph bind to its placeholders, not to a row.
static bool callsGraph(const Node &node, const GraphModule &model) {
  ModuleRef module = node.is(Opcode::CallModule) ? model.getModule(node) : nullptr;
  return module && hasGraph(*module);
}

/// Rule `node_arity`: no more arguments than placeholders, none twice, none missing that has no default.
static llvm::Error checkGraphCall(const Node &node, const Graph &graph) {
  std::vector<const Node *> inputs;
  for (const Node &input : graph.nodes())
    if (input.is(Opcode::Placeholder))
      inputs.push_back(&input);
  if (node.getArgs().size() > inputs.size())
    return error(node.getLoc(), "'{0}' takes {1} inputs, got {2}", node.getTargetText(), inputs.size(), node.getArgs().size())
        .code("node_arity");
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool byKeyword = node.getKwarg(inputs[i]->getTargetText()) != nullptr;
    bool isPositional = i < node.getArgs().size();
    if (byKeyword && isPositional)
      return error(node.getLoc(), "'{0}' gets its input '{1}' twice", node.getTargetText(), inputs[i]->getTargetText()).code("node_arity");
    if (!byKeyword && !isPositional && inputs[i]->getArgs().empty())
      return error(node.getLoc(), "'{0}' lacks its input '{1}'", node.getTargetText(), inputs[i]->getTargetText()).code("node_arity");
  }
  for (const auto &kwarg : node.getKwargs())
    if (llvm::none_of(inputs, [&](const Node *input) { return input->getTargetText() == kwarg.first; }))
      return error(node.getLoc(), "'{0}' has no input '{1}'", node.getTargetText(), kwarg.first).code("node_arity");
  return llvm::Error::success();
}

namespace {

class Verifier {
public:
  explicit Verifier(const GraphModule &model) : model(model) {}

  llvm::Error run(const VerifyOptions &options) {
    checkTree();
    checkModuleGraphs(options);
    for (const Node &node : model.getGraph().nodes())
      checkNode(node);
    checkUsers();
    const Graph &graph = model.getGraph();
    if (graph.empty() || !graph.getOutput())
      findings.add(error(Location(), "the graph does not end with an output").code("node_output"));
    if (findings.empty()) // binding asks the tree and the operands, which must be sound
      for (const Node &node : graph.nodes())
        if (!node.is(Opcode::Placeholder) && !node.is(Opcode::GetAttr) && !node.is(Opcode::Output)) {
          if (callsGraph(node, model))
            findings.add(checkGraphCall(node, *readGraph(*model.getModule(node))));
          else if (auto call = bindCall(node, model); !call)
            findings.add(call.takeError());
        }
    if (findings.empty() && options.inferTypes) {
      auto types = inferTypes(model);
      if (!types)
        findings.add(types.takeError());
      else
        checkDeclaredTypes(model, *types);
    }
    return findings.take();
  }

private:
  void checkTree() {
    checkModule("", model.getRoot());
    model.getRoot().forEachModule([&](const std::string &path, const ModuleRef &module) { checkModule(path, *module); });
  }

  /// The graphs of modules are models of their own.
  void checkModuleGraphs(VerifyOptions options) {
    options.inferTypes = false; // their inputs are typed where they are called
    llvm::DenseSet<const Module *> done;
    model.getRoot().forEachModule([&](const std::string &, const ModuleRef &module) {
      if (hasGraph(*module) && done.insert(module.get()).second)
        findings.add(verify(openModule(*module), options));
    });
  }

  void checkModule(const std::string &path, const Module &module) {
    if (!seenModules.insert(&module).second)
      return;
    for (const auto &[name, tensor] : module.getParameters())
      checkTensor(joinPath(path, name), tensor, module);
    for (const auto &[name, tensor] : module.getBuffers())
      checkTensor(joinPath(path, name), tensor, module);
    const TargetInfo *row = module.getClass();
    if (!row)
      return;
    for (const auto &[name, value] : module.getAttributes()) {
      const SlotInfo *slot = row->getSignature().findSlot(name);
      if (!slot)
        findings.add(error(module.getLoc(), "module '{0}': '{1}' has no attribute '{2}'", path, row->text, name)
                         .code("module_attr"));
      else
        findings.add(checkAttribute(row->text, *slot, value, module.getLoc()));
    }
    for (const SlotInfo &slot : row->getSignature().getSlots())
      if (!slot.isOptional && !module.findAttribute(slot.name))
        findings.add(error(module.getLoc(), "module '{0}': '{1}' needs the attribute '{2}'", path, row->text, slot.name)
                         .code("module_attr"));
  }

  void checkTensor(const std::string &path, const Tensor &tensor, const Module &owner) {
    if (!tensor)
      findings.add(error(owner.getLoc(), "tensor '{0}' has no data", path).code("tensor_missing"));
    else if (tensor.getQuantizer())
      if (llvm::Error err = tensor.getQuantizer()->verify(tensor.getDType(), tensor.getSizes(), owner.getLoc())) {
        std::vector<Diagnostic> all = takeDiagnostics(std::move(err));
        for (Diagnostic &diagnostic : all)
          diagnostic.message = "tensor '" + path + "': " + diagnostic.message;
        findings.add(llvm::make_error<InputError>(std::move(all)));
      }
  }

  /// The tensors that calling `module` needs, its children's included (they run inside it).
  void checkCalled(const std::string &path, const Module &module) {
    if (!calledModules.insert(&module).second || hasGraph(module))
      return;
    for (const ModuleTensor &tensor : getModuleTensors(module))
      if (!tensor.isOptional && !module.findTensor(tensor.name))
        findings.add(error(module.getLoc(), "'{0}' of module '{1}' is missing", joinPath(path, tensor.name),
                           module.getClassName())
                         .code("tensor_missing"));
    for (const auto &[name, child] : module.getChildren())
      checkCalled(joinPath(path, name), *child);
  }

  /// The packed weights at `path`, which get_attr may read like a tensor; null if something else is there.
  ModuleRef getPackedWeights(llvm::StringRef path) const {
    ModuleRef module = path.empty() ? nullptr : model.getRoot().findModule(path);
    return module && module->getClass() && module->getClass()->op == OpKind::PackedWeights ? module : nullptr;
  }

  static bool isLegalName(llvm::StringRef name) {
    auto isWordChar = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    return !name.empty() && llvm::all_of(name, isWordChar) && !std::isdigit(static_cast<unsigned char>(name[0]));
  }

  void checkNode(const Node &node) {
    const std::string &name = node.getName();
    if (!isLegalName(name) || (isReservedName(name) && !node.is(Opcode::Output)))
      findings.add(error(node.getLoc(), "'{0}' is not a legal node name", name).code("node_name"));
    auto [it, isNew] = byName.try_emplace(name, &node);
    if (!isNew)
      findings.add(error(node.getLoc(), "a second node has the name '{0}'", name)
                       .code("node_name")
                       .note(it->second->getLoc(), "the first one"));
    checkOperands(node);
    seen.insert(&node);
    checkTarget(node);
  }

  void checkOperands(const Node &node) {
    llvm::SmallVector<const Node *, 4> operands;
    auto collect = [&](Node *operand) {
      if (!llvm::is_contained(operands, operand))
        operands.push_back(operand);
    };
    for (const Argument &arg : node.getArgs())
      arg.forEachNode(collect);
    for (const auto &kwarg : node.getKwargs())
      kwarg.second.forEachNode(collect);
    if (!llvm::equal(operands, node.getInputs()))
      findings.add(error(node.getLoc(), "the inputs of '{0}' are not those of its arguments", node.getName())
                       .code("node_order"));
    for (const Node *operand : operands) {
      if (operand->getParent() != node.getParent())
        findings.add(error(node.getLoc(), "'{0}' reads a node of another graph", node.getName()).code("node_order"));
      else if (!seen.contains(operand))
        findings.add(error(node.getLoc(), "'{0}' reads '{1}', which does not stand before it", node.getName(),
                           operand->getName())
                         .code("node_order")
                         .note(operand->getLoc(), "'{0}' is here", operand->getName()));
      else if (!llvm::is_contained(operand->getUsers(), &node))
        findings.add(error(node.getLoc(), "'{0}' is not among the users of '{1}'", node.getName(), operand->getName())
                         .code("node_order"));
    }
  }

  /// Each user must read the node, and be there once.
  void checkUsers() {
    for (const Node &node : model.getGraph().nodes()) {
      llvm::DenseSet<const Node *> users;
      for (const Node *user : node.getUsers())
        if (!users.insert(user).second || !seen.contains(user) || !llvm::is_contained(user->getInputs(), &node))
          findings.add(error(node.getLoc(), "the users of '{0}' do not agree with the arguments of the graph",
                             node.getName())
                           .code("node_order"));
    }
  }

  /// Python itself: a method's object comes first, and the functions of builtins and operator know no keywords.
  void checkPositional(const Node &node) {
    llvm::StringRef target = node.getTargetText();
    if (node.is(Opcode::CallMethod) && node.getArgs().empty())
      findings.add(error(node.getLoc(), "method '{0}' takes its object as the first positional argument", target).code("node_arity"));
    if (node.is(Opcode::CallFunction) && !node.getKwargs().empty() && (startsWith(target, "operator.") || startsWith(target, "builtins.")))
      findings.add(error(node.getLoc(), "'{0}' takes positional arguments only, got '{1}'", target, node.getKwargs().front().first)
                       .code("node_arity"));
  }

  void checkTarget(const Node &node) {
    if (sawOutput)
      findings.add(error(node.getLoc(), "'{0}' stands behind the output", node.getName()).code("node_output"));
    llvm::StringRef target = node.getTargetText();
    switch (node.getOpcode()) {
    case Opcode::Placeholder:
      if (node.getArgs().size() > 1 || !node.getKwargs().empty())
        findings.add(error(node.getLoc(), "placeholder '{0}' has more than a default value", node.getName())
                         .code("node_arity"));
      break;
    case Opcode::GetAttr:
      if (ModuleRef packed = getPackedWeights(target))
        checkCalled(target.str(), *packed);
      else if (!model.getRoot().findTensorAt(target))
        findings.add(error(node.getLoc(), "'{0}' reads '{1}', which does not exist", node.getName(), target)
                         .code("node_target"));
      if (!node.getArgs().empty() || !node.getKwargs().empty())
        findings.add(error(node.getLoc(), "get_attr takes no arguments").code("node_arity"));
      break;
    case Opcode::CallFunction:
    case Opcode::CallMethod:
      if (!node.getTarget())
        findings.add(error(node.getLoc(), "'{0}' has no target", node.getName()).code("node_target"));
      checkPositional(node);
      break;
    case Opcode::CallModule: {
      ModuleRef module = target.empty() ? nullptr : model.getRoot().findModule(target);
      if (!module)
        findings.add(error(node.getLoc(), "'{0}' calls the module '{1}', which does not exist", node.getName(), target)
                         .code("node_target"));
      else if (!module->getClass() && !hasGraph(*module))
        findings.add(error(node.getLoc(), "'{0}' calls the module '{1}', whose class '{2}' is not in the operator table",
                           node.getName(), target, module->getClassName())
                         .code("module_class"));
      else
        checkCalled(target.str(), *module);
      break;
    }
    case Opcode::Output:
      sawOutput = true;
      if (node.getArgs().size() != 1 || !node.getUsers().empty())
        findings.add(error(node.getLoc(), "the output takes one argument and has no users").code("node_output"));
      break;
    }
  }

  /// Declared types against inferred ones, also inside the graphs that calls run.
  /// \param call  that runs this graph, for a note; null for the outermost one.
  void checkDeclaredTypes(const GraphModule &graph, const TypeMap &types, const Node *call = nullptr) {
    for (const Node &node : graph.getGraph().nodes()) {
      if (callsGraph(node, graph))
        checkTypesInside(graph, node, types);
      const std::optional<TensorType> &declared = node.getType();
      auto it = types.find(&node);
      if (!declared || it == types.end() || it->second.isUnknown())
        continue;
      const TensorType *inferred = it->second.getTensor();
      if (inferred && agree(*declared, *inferred))
        continue;
      ErrorBuilder found = error(node.getLoc(), "'{0}' is declared as '{1}', but is {2}", node.getName(), toString(*declared),
                                 inferred ? "'" + toString(*inferred) + "'" : "no tensor")
                               .code("type_mismatch");
      if (call)
        found = std::move(found).note(call->getLoc(), "when '{0}' runs it", call->getName());
      findings.add(std::move(found));
    }
  }

  /// \param types  of the graph that `call` stands in, whose inference went well, this call included.
  void checkTypesInside(const GraphModule &outer, const Node &call, const TypeMap &types) {
    GraphModule inner = openModule(*outer.getModule(call));
    auto inside = inferGraphTypes(inner, call, [&](const Node *node) -> ValueType { return types.lookup(node); });
    if (inside)
      checkDeclaredTypes(inner, *inside, &call);
    else
      findings.add(inside.takeError());
  }

  /// The memory format is inferred, not promised; quantization counts where both know it.
  static bool agree(const TensorType &declared, const TensorType &inferred) {
    if (declared.dtype != inferred.dtype || declared.getRank() != inferred.getRank())
      return false;
    for (size_t i = 0; i < declared.getRank(); ++i)
      if (!declared.shape[i].mayEqual(inferred.shape[i]))
        return false;
    return !declared.quantizer || !inferred.quantizer || *declared.quantizer == *inferred.quantizer;
  }

  const GraphModule &model;
  ErrorList findings;
  llvm::DenseSet<const Module *> seenModules, calledModules;
  llvm::DenseSet<const Node *> seen;
  llvm::StringMap<const Node *> byName;
  bool sawOutput = false;
};

} // namespace

llvm::Error verify(const GraphModule &model, const VerifyOptions &options) { return Verifier(model).run(options); }

} // namespace qfx
