// How a rule reads its operands: types, host numbers, constants.
#include "ir/Graph.h"
#include "ir/GraphModule.h"
#include "ir/Module.h"
#include "ir/InferDetail.h"

#include <cmath>

namespace qfx {

ValueType getArgumentType(const Argument &argument, TypeLookup lookup) {
  switch (argument.getKind()) {
  case Argument::Kind::Node:
    return lookup(argument.getNode());
  case Argument::Kind::List:
  case Argument::Kind::Tuple: {
    std::vector<ValueType> elements;
    for (const Argument &element : argument.getElements())
      elements.push_back(getArgumentType(element, lookup));
    return ValueType::sequence(argument.getKind(), std::move(elements));
  }
  case Argument::Kind::Dict: {
    std::vector<std::pair<std::string, ValueType>> entries;
    for (const auto &[key, entry] : argument.getEntries())
      entries.emplace_back(key, getArgumentType(entry, lookup));
    return ValueType::dictionary(std::move(entries));
  }
  case Argument::Kind::Slice: {
    // Bounds may be sizes; the slice is a host value once they are constants.
    Argument::Elements bounds;
    for (const Argument &bound : argument.getElements()) {
      std::optional<Argument> constant = getArgumentType(bound, lookup).getConstant();
      if (!constant)
        return ValueType();
      bounds.push_back(std::move(*constant));
    }
    return ValueType::host(Argument::slice(bounds[0], bounds[1], bounds[2]));
  }
  default:
    return ValueType::host(argument);
  }
}

/// conv2d of Conv2d, adaptive_avg_pool2d of AdaptiveAvgPool2d.
static std::string snakeCase(llvm::StringRef name) {
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    bool isUpper = name[i] >= 'A' && name[i] <= 'Z';
    if (isUpper && i)
      text += '_';
    text += isUpper ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
  }
  return text;
}

std::string InferContext::makeCode(llvm::StringRef rule) const {
  return snakeCase(call.op->name) + "_" + rule.str();
}

/// What a wrong operand is, for messages.
static std::string describe(const ValueType &value) {
  if (const TensorType *type = value.getTensor())
    return toString(*type);
  if (std::optional<Argument> constant = value.getConstant())
    return toString(*constant, ArgumentStyle::Qfx);
  if (value.getDim())
    return "an int";
  if (value.getDataNumber())
    return "a number that is known only when the graph runs";
  if (value.getSequence())
    return "a sequence";
  if (value.getPacked())
    return "packed weights";
  return value.getDictionary() ? "a dict" : "a value of unknown type";
}

ValueType InferContext::getValue(llvm::StringRef name) const {
  const BoundSlot &slot = call.get(name);
  if (slot.tensor)
    return slot.tensor.getType();
  return getArgumentType(slot.arg, lookup);
}

llvm::Expected<TensorType> InferContext::getTensor(llvm::StringRef name) const {
  ValueType value = getValue(name);
  if (const TensorType *type = value.getTensor())
    return *type;
  return fail("input", "wants a tensor for '{0}', got {1}", name, describe(value));
}

std::optional<TensorType> InferContext::getOptionalTensor(llvm::StringRef name) const {
  ValueType value = getValue(name);
  const TensorType *type = value.getTensor();
  return type ? std::optional<TensorType>(*type) : std::nullopt;
}

bool InferContext::hasValue(llvm::StringRef name) const {
  const BoundSlot &slot = call.get(name);
  return slot.tensor || !slot.arg.isNone();
}

static bool holdsUnknown(const ValueType &value) {
  if (const auto *sequence = value.getSequence())
    return llvm::any_of(sequence->elements, holdsUnknown);
  return value.isUnknown();
}

bool InferContext::isUnknown(llvm::StringRef name) const { return holdsUnknown(getValue(name)); }

const Tensor *InferContext::getConstantTensor(llvm::StringRef name) const {
  const BoundSlot &slot = call.get(name);
  if (slot.tensor)
    return &slot.tensor;
  const Node *node = slot.arg.getNodeOrNull();
  if (!model || !node || !node->is(Opcode::GetAttr))
    return nullptr;
  return model->getRoot().findTensorAt(node->getTargetText());
}

std::optional<double> InferContext::findNumber(llvm::StringRef name) const {
  if (const Tensor *tensor = getConstantTensor(name))
    return tensor->getNumElements() == 1 ? std::optional<double>(tensor->getElementAsDouble(0)) : std::nullopt;
  std::optional<Argument> constant = getValue(name).getConstant();
  if (constant && constant->isNumber())
    return constant->getNumber();
  return std::nullopt;
}

llvm::Expected<int64_t> InferContext::getInt(llvm::StringRef name) const {
  ValueType value = getValue(name);
  std::optional<Argument> constant = value.getConstant();
  if (constant && constant->isInt())
    return constant->getInt();
  if (constant && constant->isBool())
    return int64_t(constant->getBool());
  return fail("input", "wants a known int for '{0}', got {1}", name, describe(value));
}

llvm::Expected<double> InferContext::getNumber(llvm::StringRef name) const {
  if (std::optional<double> number = findNumber(name))
    return *number;
  return fail("input", "wants a known number for '{0}', got {1}", name, describe(getValue(name)));
}

llvm::Expected<bool> InferContext::getBool(llvm::StringRef name) const {
  ValueType value = getValue(name);
  std::optional<Argument> constant = value.getConstant();
  if (constant && (constant->isBool() || constant->isInt()))
    return constant->getNumber() != 0;
  return fail("input", "wants a known bool for '{0}', got {1}", name, describe(value));
}

llvm::Expected<llvm::SmallVector<Dim, 4>> InferContext::getDims(llvm::StringRef name) const {
  ValueType value = getValue(name);
  llvm::SmallVector<Dim, 4> dims;
  if (const Dim *dim = value.getDim()) {
    dims.push_back(*dim);
    return dims;
  }
  const auto *sequence = value.getSequence();
  if (!sequence)
    return fail("input", "wants an int or a list of ints for '{0}', got {1}", name, describe(value));
  for (const ValueType &element : sequence->elements) {
    if (const Dim *dim = element.getDim())
      dims.push_back(*dim);
    else if (element.isUnknown())
      dims.push_back(Dim::unknown());
    else
      return fail("input", "wants ints for '{0}', got {1}", name, describe(element));
  }
  return dims;
}

llvm::Expected<llvm::SmallVector<int64_t, 4>> InferContext::getInts(llvm::StringRef name, size_t count) const {
  auto dims = getDims(name);
  if (!dims)
    return dims.takeError();
  llvm::SmallVector<int64_t, 4> ints;
  for (const Dim &dim : *dims) {
    if (!dim.isStatic())
      return fail("input", "wants known ints for '{0}'", name);
    ints.push_back(dim.getValue());
  }
  if (count && ints.size() == 1)
    ints.assign(count, ints[0]);
  if (count && ints.size() != count)
    return fail("input", "wants one or {0} ints for '{1}', got {2}", count, name, ints.size());
  return ints;
}

llvm::Expected<ValueType> inferChild(const InferContext &context, const Module &child, llvm::ArrayRef<ValueType> inputs) {
  // The child's arguments have no node of their own: stand-ins carry their types through binding.
  Graph standIns;
  llvm::SmallVector<const Node *, 2> nodes;
  std::vector<Argument> args;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Node *node = standIns.placeholder("x");
    nodes.push_back(node);
    args.push_back(node);
  }
  auto call = bindModuleCall(child, args, context.getCall().loc);
  if (!call)
    return call.takeError();
  auto lookup = [&](const Node *node) -> ValueType {
    for (size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i] == node)
        return inputs[i];
    return ValueType();
  };
  return inferCall(InferContext(*call, lookup, context.getModel()));
}

} // namespace qfx
