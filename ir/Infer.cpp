// Types of a graph's values: constants and placeholders as they are declared, calls by their operator's rule.
#include "ir/Infer.h"

#include "ir/Compose.h"

#include "ir/Graph.h"
#include "ir/GraphModule.h"
#include "ir/InferGraph.h"
#include "ir/InferDetail.h"
#include "ir/Module.h"
#include "ir/ModuleGraph.h"
#include "ir/OpKind.h"
#include "ir/OpsDetail.h"
#include "ir/Text.h"

namespace qfx {

static ValueType packedOf(const Module &module) {
  PackedWeights packed;
  packed.module = &module;
  if (const Tensor *weight = module.findTensor("weight"))
    packed.weight = weight->getType();
  packed.hasBias = module.findTensor("bias") != nullptr;
  size_t spatial = packed.weight.getRank() > 2 ? packed.weight.getRank() - 2 : 0;
  auto read = [&](llvm::StringRef name, llvm::SmallVector<int64_t, 3> &numbers) {
    const Argument *value = module.findAttribute(name);
    if (!value)
      return;
    if (value->isInt())
      numbers.assign(spatial, value->getInt());
    else if (value->isSequence())
      for (const Argument &one : value->getElements())
        numbers.push_back(one.isInt() ? one.getInt() : 0);
  };
  read("stride", packed.stride);
  read("padding", packed.padding);
  read("output_padding", packed.outputPadding);
  read("dilation", packed.dilation);
  if (const Argument *groups = module.findAttribute("groups"))
    packed.groups = groups->isInt() ? groups->getInt() : 1;
  if (const Argument *transpose = module.findAttribute("transpose"))
    packed.isTransposed = transpose->isBool() && transpose->getBool();
  return ValueType::packed(std::move(packed));
}

/// Rule `node_target`: the path leads to a tensor or to packed weights.
static llvm::Expected<ValueType> inferGetAttr(const GraphModule &model, const Node &node) {
  llvm::StringRef path = node.getTargetText();
  if (const Tensor *tensor = model.getRoot().findTensorAt(path))
    return ValueType(tensor->getType());
  ModuleRef module = model.getRoot().findModule(path);
  if (!module)
    return error(node.getLoc(), "the model has no tensor '{0}'", path).code("node_target");
  if (module->getClass() && module->getClass()->op == OpKind::PackedWeights)
    return packedOf(*module);
  return error(node.getLoc(), "'{0}' is a module of class '{1}', expected a tensor or packed weights", path,
               module->getClassName())
      .code("node_target");
}

llvm::Expected<TypeMap> inferGraphTypes(const GraphModule &inner, const Node &call, TypeLookup lookup) {
  TypeMap types;
  auto innerLookup = [&](const Node *node) -> ValueType { return types.lookup(node); };
  size_t index = 0;
  for (const Node &node : inner.getGraph().nodes()) {
    if (node.is(Opcode::Placeholder)) {
      const Argument *value = index < call.getArgs().size() ? &call.getArg(index) : call.getKwarg(node.getTargetText());
      ++index;
      if (value) {
        types[&node] = getArgumentType(*value, lookup);
        continue;
      }
    }
    auto type = inferNode(inner, node, innerLookup);
    if (!type)
      return type.takeError();
    types[&node] = std::move(*type);
  }
  return types;
}

/// The value of a call of a module with a graph: that of its graph with the arguments as placeholders.
static llvm::Expected<ValueType> inferGraphCall(const Module &module, const Node &call, TypeLookup lookup) {
  GraphModule inner = openModule(module);
  auto types = inferGraphTypes(inner, call, lookup);
  if (!types)
    return types.takeError();
  return types->lookup(inner.getGraph().getOutput());
}

llvm::Expected<ValueType> inferNode(const GraphModule &model, const Node &node, TypeLookup lookup) {
  switch (node.getOpcode()) {
  case Opcode::Placeholder:
    return node.getType() ? ValueType(*node.getType()) : ValueType();
  case Opcode::GetAttr:
    return inferGetAttr(model, node);
  case Opcode::Output:
    return getArgumentType(node.getArgs().empty() ? Argument() : node.getArg(0), lookup);
  default:
    break;
  }
  if (node.is(Opcode::CallModule))
    if (ModuleRef module = model.getModule(node); module && hasGraph(*module))
      return inferGraphCall(*module, node, lookup);
  auto call = bindCall(node, model);
  if (!call)
    return call.takeError();
  return inferCall(InferContext(*call, lookup, &model));
}

/// Rule `tensor_size` for one value; sequences are looked into.
static llvm::Error checkSize(const ValueType &value, const BoundCall &call) {
  if (const auto *sequence = value.getSequence()) {
    for (const ValueType &element : sequence->elements)
      if (llvm::Error err = checkSize(element, call))
        return err;
    return llvm::Error::success();
  }
  const TensorType *type = value.getTensor();
  if (type && !countElements(type->shape))
    return error(call.loc, "the result of '{0}', {1}, has more than 2^62 elements", call.op->name, toString(*type)).code("tensor_size");
  return llvm::Error::success();
}

/// A rule sees only known operands: with an unknown one the result is unknown.  Indexing looks into sequences itself.
static bool dependsOnUnknown(const InferContext &context) {
  bool looksInside = context.getCall().op->kind == OpKind::GetItem;
  for (const BoundSlot &slot : context.getCall().slots) {
    ValueType value = context.getValue(slot.info->name);
    if (value.isUnknown() || (!looksInside && context.isUnknown(slot.info->name)))
      return true;
  }
  return false;
}

/// Rule `<op>_quantized`: torch.ao.nn.quantized.functional takes quantized inputs only (operators 14).
static llvm::Error checkQuantizedFunctional(const InferContext &context) {
  llvm::StringRef text = context.getCall().target->text;
  if (!startsWith(text, "torch.ao.nn.quantized.functional."))
    return llvm::Error::success();
  std::optional<TensorType> input = context.getOptionalTensor("input");
  if (!input || isQuantized(input->dtype))
    return llvm::Error::success();
  return context.fail("quantized", "wants a quantized input to '{0}', got {1}", text, toString(*input));
}

llvm::Expected<ValueType> inferCall(const InferContext &context) {
  if (dependsOnUnknown(context))
    return ValueType();
  if (llvm::Error err = checkQuantizedFunctional(context))
    return err;
  auto result = takesComplex(context) ? inferComposed(context) : context.getCall().op->infer(context);
  if (!result)
    return result;
  if (llvm::Error err = checkSize(*result, context.getCall()))
    return err;
  return result;
}

llvm::Expected<TypeMap> inferTypes(const GraphModule &model, llvm::ArrayRef<TensorType> inputs) {
  TypeMap types;
  ErrorList errors;
  auto lookup = [&](const Node *node) -> ValueType { return types.lookup(node); };
  size_t numPlaceholders = 0;
  for (const Node &node : model.getGraph().nodes()) {
    if (node.is(Opcode::Placeholder) && numPlaceholders < inputs.size()) {
      types[&node] = inputs[numPlaceholders++];
      continue;
    }
    auto type = inferNode(model, node, lookup);
    if (type)
      types[&node] = std::move(*type);
    else
      errors.add(type.takeError()); // its value stays unknown, so that one mistake is told once
  }
  if (!errors.empty())
    return errors.take();
  return types;
}

} // namespace qfx
