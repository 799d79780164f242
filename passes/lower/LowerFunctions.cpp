// Functional linear and convolution, and two-operand arithmetic, become quantized:: calls (workflow 6.3, 6.4).
#include "passes/lower/LowerDetail.h"

#include "ir/Bind.h"
#include "ir/Ops.h"
#include "passes/ConstantValue.h"
#include "passes/GraphUtils.h"
#include "passes/ValueOrigin.h"
#include "passes/prepare/DerivedObserver.h"

namespace qfx {

/// "same" and "valid" as the numbers that a prepack takes; none where "same" would pad one side more than the other.
static std::optional<Argument> resolvePadding(llvm::StringRef name, llvm::ArrayRef<int64_t> kernel, const Argument &dilation) {
  Argument::Elements padding;
  for (size_t axis = 0; axis < kernel.size(); ++axis) {
    int64_t step = dilation.isSequence() ? dilation.getElements()[std::min(axis, dilation.getElements().size() - 1)].getInt() : dilation.getInt();
    int64_t total = name == "same" ? step * (kernel[axis] - 1) : 0;
    if (total % 2)
      return std::nullopt;
    padding.push_back(Argument(total / 2));
  }
  return Argument::tuple(std::move(padding));
}

/// The arguments of the prepack call: the quantized weight, then bias and geometry in the prepack's own order.  Operands given by keyword
/// stand at their schema place, missing ones are the float function's defaults, numbers are spread over the spatial axes and names of a padding
/// become numbers (qfx rules).  None where no number says what the name does.
llvm::Expected<std::optional<std::vector<Argument>>> makePrepackArgs(const LowerState &state, const Node &call, const TargetInfo &prepack,
                                                      Node *quantizedWeight) {
  auto bound = bindCall(call, state.model);
  if (!bound)
    return bound.takeError();
  llvm::SmallVector<int64_t, 3> kernel;
  if (Node *source = quantizedWeight->getArg(0).getNodeOrNull(); source && !collectProducers(source).empty()) {
    auto weight = evaluateConstant(state.model, *source, state.context);
    if (!weight)
      return weight.takeError();
    if (weight->getRank() > 2)
      kernel.assign(weight->getSizes().begin() + 2, weight->getSizes().end());
  }
  std::vector<Argument> args = {quantizedWeight};
  for (const SlotInfo &slot : prepack.getSignature().getSlots().drop_front()) {
    const BoundSlot *value = bound->find(slot.name == "B" ? llvm::StringRef("bias") : llvm::StringRef(slot.name));
    assert(value && "a prepack takes only what its function has");
    Argument arg = value->arg;
    if (slot.name == "padding" && arg.isString()) {
      std::optional<Argument> numbers = kernel.empty() ? std::nullopt : resolvePadding(arg.getString(), kernel, bound->get("dilation").arg);
      if (!numbers)
        return std::nullopt;
      arg = std::move(*numbers);
    } else if (slot.type == SlotType::Ints && arg.isInt() && !kernel.empty()) {
      arg = Argument::tuple(Argument::Elements(kernel.size(), arg));
    }
    args.push_back(std::move(arg));
  }
  return args;
}

/// Upstream passes to the prepack exactly what the call had; qfx differs only where that would fail.  Keeps the text equal.
static std::vector<Argument> trimToCall(const Node &call, const TargetInfo &prepack, std::vector<Argument> full) {
  bool isLinear = prepack.getSignature().getSlots().size() == 2;
  size_t given = call.getArgs().size() - 1;
  if (isLinear && call.getKwargs().empty() && given < full.size())
    full.resize(given);
  return full;
}

llvm::Error lowerStaticFunctions(LowerState &state) {
  static const TargetInfo &perTensor = requireFunction("torch.quantize_per_tensor");
  static const TargetInfo &perChannel = requireFunction("torch.quantize_per_channel");
  Graph &graph = state.model.getGraph();
  for (Node *node : graph.getNodeVector()) {
    auto pattern = matchStaticPattern(state, *node);
    if (!pattern || !pattern->ref->is(Opcode::CallFunction))
      continue;
    Node *call = pattern->ref;
    const LoweringRow *row = findRow(state, LoweringGroup::StaticFunction, *call);
    if (!row || (pattern->relu && !row->toRelu))
      continue;
    const Argument *input = findOperand(*call, 0, "input"), *weight = findOperand(*call, 1, "weight");
    Node *inputDequantize = input ? input->getNodeOrNull() : nullptr;
    Node *weightDequantize = weight ? weight->getNodeOrNull() : nullptr;
    if (!isDequantize(inputDequantize) || !isDequantize(weightDequantize))
      continue;
    Node *quantizedWeight = weightDequantize->getArg(0).getNodeOrNull();
    if (!isFunctionCall(quantizedWeight, perTensor) && !isFunctionCall(quantizedWeight, perChannel))
      continue;
    if (!quantizedWeight->getKwargs().empty()) // convert writes them by position
      continue;
    auto prepackArgs = makePrepackArgs(state, *call, *row->prepack, quantizedWeight);
    if (!prepackArgs)
      return prepackArgs.takeError();
    if (!*prepackArgs)
      continue;

    auto [scaleNode, zeroPointNode] = getQParamNodes(*pattern->quantize);
    Node *packed;
    {
      auto insertPoint = Graph::InsertPoint::before(scaleNode ? scaleNode : pattern->quantize);
      packed = graph.callFunction(*row->prepack, trimToCall(*call, *row->prepack, std::move(**prepackArgs)));
      packed->setLoc(call->getLoc());
    }
    if (pattern->relu)
      setValueOrigin(*call, *pattern->relu);
    call->setTarget(pattern->relu ? *row->toRelu : *row->to);
    call->setArgsAndKwargs({inputDequantize->getArg(0), packed, pattern->quantize->getArg(1), pattern->quantize->getArg(2)}, {});
    pattern->quantize->replaceAllUsesWith(call);
    graph.moveAfter(call, zeroPointNode ? zeroPointNode : packed);
    graph.erase(pattern->quantize);
    if (pattern->relu)
      graph.erase(pattern->relu);
  }
  return llvm::Error::success();
}

/// add(x, y, alpha=2): the quantized operator has no alpha (QFX: not lowered).
static bool hasForeignKeyword(const Node &call) {
  for (const auto &[key, value] : call.getKwargs())
    if (!(key == "alpha" && value.isNumber() && value.getNumber() == 1))
      return true;
  return false;
}

llvm::Error lowerBinaryFunctions(LowerState &state) {
  Graph &graph = state.model.getGraph();
  for (Node *node : graph.getNodeVector()) {
    auto pattern = matchStaticPattern(state, *node);
    if (!pattern || !pattern->ref->is(Opcode::CallFunction))
      continue;
    Node *call = pattern->ref;
    const LoweringRow *row = findRow(state, LoweringGroup::BinaryFunction, *call);
    if (call->findMeta(kOwnQParamsMeta)) // the scalar form would keep the input's parameters (QFX, workflow 4.7)
      continue;
    const TargetInfo *target = row ? (pattern->relu ? row->toRelu : row->to) : nullptr;
    if (!target || call->getArgs().size() != 2 || !areDequantized(*call, 2) || hasForeignKeyword(*call))
      continue;
    std::vector<Argument> args;
    size_t numTensors = 0;
    for (const Argument &arg : call->getArgs()) {
      Node *operand = arg.getNodeOrNull();
      args.push_back(operand ? operand->getArg(0) : arg);
      numTensors += operand != nullptr;
    }
    if (numTensors == 2) {
      args.push_back(pattern->quantize->getArg(1));
      args.push_back(pattern->quantize->getArg(2));
    }
    Node *lowered;
    {
      auto insertPoint = Graph::InsertPoint::after(pattern->quantize);
      lowered = graph.callFunction(*target, std::move(args));
      lowered->setLoc(call->getLoc());
      setValueOrigin(*lowered, pattern->relu ? *pattern->relu : *call);
      pattern->quantize->replaceAllUsesWith(lowered);
    }
    graph.erase(pattern->quantize);
    if (pattern->relu)
      graph.erase(pattern->relu);
    if (call->getUsers().empty())
      graph.erase(call);
  }
  return llvm::Error::success();
}

} // namespace qfx
