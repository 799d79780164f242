// Where the parameters of codes come from.
#include "passes/lower/CodesQParams.h"

#include "ir/Bind.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "passes/prepare/DerivedObserver.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

/// The value of a parameter: a number, or an attribute of the model.
static std::optional<double> readParameter(const GraphModule &model, const BoundSlot *slot) {
  if (!slot)
    return std::nullopt;
  if (slot->arg.isNumber())
    return slot->arg.getNumber();
  Node *source = slot->arg.getNodeOrNull();
  const Tensor *tensor = source && source->is(Opcode::GetAttr) ? model.getRoot().findTensorAt(source->getTargetText()) : nullptr;
  return tensor && tensor->getNumElements() == 1 ? std::optional<double>(tensor->getElementAsDouble(0)) : std::nullopt;
}

/// The number that quantized::add and quantized::mul take in place of one operand, null if both are codes.
static const BoundSlot *findScalar(const BoundCall &call) {
  switch (call.op->kind) {
  case OpKind::QuantizedAdd:
  case OpKind::QuantizedAddRelu:
  case OpKind::QuantizedMul:
  case OpKind::QuantizedMulRelu:
    for (llvm::StringRef name : {"input", "other"})
      if (const BoundSlot *slot = call.find(name); slot && slot->arg.isNumber())
        return slot;
    return nullptr;
  default:
    return nullptr;
  }
}

static std::optional<OutputQParams> derive(OpKind op, std::optional<OutputQParams> operand, DType dtype, double constant) {
  if (!operand)
    return std::nullopt;
  bool isProduct = op == OpKind::QuantizedMul || op == OpKind::QuantizedMulRelu;
  auto [scale, zeroPoint] = deriveQParams(isProduct ? "mul" : "add", operand->scale, operand->zeroPoint, dtype, constant);
  return OutputQParams{scale, zeroPoint};
}

std::optional<OutputQParams> CodesQParams::find(const Node &codes, DType dtype) const {
  for (const Node *node = &codes; node; node = node->getArgs().empty() ? nullptr : node->getArg(0).getNodeOrNull()) {
    if (auto it = known.find(node); it != known.end())
      return it->second;
    if (isStaticQuantize(state, *node))
      return getOutputQParams(state, *node);
    if (!node->is(Opcode::CallFunction) && !node->is(Opcode::CallMethod) && !node->is(Opcode::CallModule))
      return std::nullopt;
    auto bound = bindCall(*node, state.model);
    if (!bound) {
      llvm::consumeError(bound.takeError());
      return std::nullopt;
    }
    if (bound->op->has(Traits::KeepsQuantizer))
      continue;
    if (const BoundSlot *other = findScalar(*bound))
      return derive(bound->op->kind, find(*node->getArg(node->getArg(0).isNode() ? 0 : 1).getNode(), dtype), dtype, other->arg.getNumber());
    std::optional<double> scale = readParameter(state.model, bound->find("output_scale"));
    std::optional<double> zeroPoint = readParameter(state.model, bound->find("output_zero_point"));
    if (!scale || !zeroPoint)
      return std::nullopt;
    return OutputQParams{*scale, static_cast<int64_t>(*zeroPoint)};
  }
  return std::nullopt;
}

/// Of sigmoid and hardsigmoid, and of tanh (operators 7).
static OutputQParams getFixedQParams(bool isTanh, bool isSigned) {
  return isTanh ? OutputQParams{0x1p-7, isSigned ? 0 : 128} : OutputQParams{0x1p-8, isSigned ? -128 : 0};
}

void CodesQParams::replace(const Node &quantize, const Node &ref, const LoweringRow &row, const Node &operand) {
  if (row.group == LoweringGroup::Default && ref.is(Opcode::CallFunction))
    return; // a call of its twin takes its place, which says what it has
  auto isScale = [](const SlotInfo &slot) { return slot.target == "output_scale"; };
  if (row.to && ref.is(Opcode::CallModule) && llvm::any_of(row.to->getSignature().getSlots(), isScale))
    known.insert({&ref, getOutputQParams(state, quantize)});
  else if (row.group == LoweringGroup::FixedQParams)
    known.insert({&ref, getFixedQParams(row.from->op == OpKind::Tanh, quantize.getArg(3) == Argument(DType::QInt8))});
  else if (std::optional<OutputQParams> kept = find(operand, quantize.getArg(3).getDType()))
    known.insert({&ref, *kept});
}

} // namespace qfx
