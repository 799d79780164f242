// Compositions from calls, and the types that follow from them.
#include "ir/compose/Composer.h"

#include "ir/GraphModule.h"
#include "ir/OpKind.h"

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
  return into.graph.callModule(joinPath(modulePath, path), std::move(args), std::move(kwargs));
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
  ComposeFunction function = findComposeFunction(context.getCall().op->kind);
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
