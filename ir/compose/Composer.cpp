// Compositions from calls, and the types that follow from them.
#include "ir/compose/Composer.h"

#include "ir/GraphModule.h"
#include "ir/OpKind.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

llvm::Expected<Composer::Input> Composer::input(llvm::StringRef slot, bool takesCodes) {
  QFX_TRY(type, context.getTensor(slot));
  if (!takesCodes)
    if (llvm::Error err = checkNotQuantized(context, type, slot))
      return err;
  into.inputs.push_back({slot.str(), std::nullopt});
  return Input{into.graph.placeholder(slot), type};
}

llvm::Expected<std::vector<Composer::Input>> Composer::inputs(llvm::StringRef slot, bool takesCodes) {
  ValueType value = context.getValue(slot);
  const auto *list = value.getSequence();
  if (!list || list->elements.empty())
    return context.fail("input", "wants a list of at least one tensor for '{0}'", slot);
  std::vector<Input> result;
  for (size_t i = 0; i < list->elements.size(); ++i) {
    const TensorType *type = list->elements[i].getTensor();
    if (!type)
      return context.fail("input", "wants a list of tensors for '{0}', element {1} is none", slot, i);
    if (!takesCodes)
      if (llvm::Error err = checkNotQuantized(context, *type, slot))
        return err;
    into.inputs.push_back({slot.str(), i});
    result.push_back({into.graph.placeholder(slot), *type});
  }
  return result;
}

/// The path below `child` of the observer that eager mode's prepare put on it, or empty.
static llvm::StringRef findHookedObserver(const Module &child) {
  constexpr llvm::StringLiteral kName = "activation_post_process";
  auto observes = [](const Module &module) { return module.getClass() && module.getClass()->getOp().has(Traits::Observes); };
  ModuleRef observer = observes(child) ? nullptr : child.findChild(kName);
  return observer && observes(*observer) ? kName : llvm::StringLiteral("");
}

llvm::Expected<Node *> Composer::callChild(llvm::StringRef path, std::vector<Argument> args, Kwargs kwargs) {
  const Module *module = context.getCall().module;
  if (!module || !module->findModule(path))
    return context.fail("children", "wants a child '{0}'", path);
  if (modulePath.empty() && context.getModel()) // a module is bound without its path: any path to it will do
    context.getModel()->getRoot().forEachModule([&](const std::string &where, const ModuleRef &one) {
      if (one.get() == module)
        modulePath = where;
    });
  assert(!modulePath.empty() && "the called module is part of the model");
  std::string full = joinPath(modulePath, path);
  Node *call = into.graph.callModule(full, std::move(args), std::move(kwargs));
  llvm::StringRef observer = findHookedObserver(*module->findModule(path));
  return observer.empty() ? call : into.graph.callModule(joinPath(full, observer), {call});
}

std::optional<std::pair<TensorType, TensorType>> getComplexParts(const ValueType &value) {
  const ValueType::Dictionary *dict = value.getDictionary();
  if (!dict || dict->entries.size() != 2 || dict->entries[0].first != "real" || dict->entries[1].first != "imag")
    return std::nullopt;
  const TensorType *real = dict->entries[0].second.getTensor(), *imag = dict->entries[1].second.getTensor();
  return real && imag ? std::optional(std::pair(*real, *imag)) : std::nullopt;
}

llvm::Expected<Composer::ComplexInput> Composer::complexInput(llvm::StringRef slot) {
  std::optional<std::pair<TensorType, TensorType>> parts = getComplexParts(context.getValue(slot));
  TensorType type;
  if (parts) {
    type = parts->first;
  } else {
    QFX_TRY(tensor, context.getTensor(slot));
    type = tensor;
  }
  if (type.dtype != DType::Float32)
    return context.fail("dtype", "wants float32 or complex numbers of float32 parts for '{0}', got {1}", slot, toString(type));
  if (!parts) {
    into.inputs.push_back({slot.str(), std::nullopt});
    return ComplexInput{into.graph.placeholder(slot), nullptr, type};
  }
  into.inputs.push_back({slot.str(), 0});
  Node *real = into.graph.placeholder(slot);
  into.inputs.push_back({slot.str(), 1});
  return ComplexInput{real, into.graph.placeholder(slot), type};
}

static ComposeFunction findComplexFunction(OpKind kind) {
  switch (kind) {
#define QFX_COMPLEX(Op, function)                                                                                      \
  case OpKind::Op:                                                                                                     \
    return function;
#include "ir/compose/Compositions.def"
  default:
    return nullptr;
  }
}

bool takesComplex(const InferContext &context) {
  if (!findComplexFunction(context.getCall().op->kind))
    return false;
  return llvm::any_of(context.getCall().slots, [&](const BoundSlot &slot) {
    return getComplexParts(context.getValue(slot.info->name)).has_value();
  });
}

static ComposeFunction findComposeFunction(OpKind kind) {
  switch (kind) {
#define QFX_COMPOSE(Op, function)                                                                                      \
  case OpKind::Op:                                                                                                     \
    return function;
#include "ir/compose/Compositions.def"
  default:
    return nullptr;
  }
}

llvm::Expected<std::shared_ptr<Composition>> compose(const InferContext &context) {
  const OpKind kind = context.getCall().op->kind;
  ComposeFunction function = takesComplex(context) ? findComplexFunction(kind) : findComposeFunction(kind);
  assert(function && "the operator is no composition");
  auto composition = std::make_shared<Composition>();
  Composer composer(context, *composition);
  llvm::Expected<Argument> result = function(composer);
  if (!result)
    return result.takeError();
  if (result->isNone())
    return std::shared_ptr<Composition>();
  composition->graph.output(std::move(*result));
  for (Node &node : composition->graph.mutableNodes())
    node.setLoc(context.getCall().loc);
  return composition;
}

/// The composition's types, one node after the other.  Rule `<op>_part`: what an inner operator refuses.
llvm::Expected<ValueType> inferComposed(const InferContext &context) {
  QFX_TRY(composition, compose(context));
  if (!composition)
    return ValueType();
  TypeMap types;
  auto lookup = [&](const Node *node) -> ValueType { return types.lookup(node); };
  static const GraphModule none;
  size_t next = 0;
  for (const Node &node : composition->graph.nodes()) {
    if (node.is(Opcode::Output))
      return getArgumentType(node.getArg(0), lookup);
    if (node.is(Opcode::Placeholder)) {
      const Composition::Input &input = composition->inputs[next++];
      ValueType value = context.getValue(input.slot);
      if (const ValueType::Dictionary *parts = value.getDictionary(); parts && input.element)
        types[&node] = parts->entries[*input.element].second;
      else
        types[&node] = input.element ? value.getSequence()->elements[*input.element] : value;
      continue;
    }
    llvm::Expected<ValueType> type = inferNode(context.getModel() ? *context.getModel() : none, node, lookup);
    if (!type) {
      Diagnostic first = takeDiagnostics(type.takeError()).front();
      return context.fail("part", "stands for other operators, of which {0}", first.message);
    }
    types[&node] = std::move(*type);
  }
  llvm_unreachable("a graph has an output");
}

} // namespace qfx
