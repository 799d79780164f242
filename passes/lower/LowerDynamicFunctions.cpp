// Functionals on dynamically quantized inputs become quantized:: calls on packed weights (workflow 6.3).
#include "passes/lower/LowerDetail.h"

#include "ir/Ops.h"
#include "passes/GraphUtils.h"
#include "passes/ValueOrigin.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace qfx {

namespace {
/// quantize_per_tensor_dynamic -> dequantize -> call [-> relu], the weight dequantized as well.
struct DynamicMatch {
  Node *call = nullptr, *relu = nullptr;
  Node *quantize = nullptr;        ///< of the input
  Node *quantizedWeight = nullptr; ///< quantize call, or `to(w, torch.float16)`
  DType activation = DType::Float32, weight = DType::Float32;
};
} // namespace

/// Upstream looks through F.relu and nn.ReLU here, not through torch.relu.
static bool isSkippedRelu(const LowerState &state, const Node &node) {
  static const TargetInfo &torchRelu = requireFunction("torch.relu");
  return isRelu(state, node) && !isFunctionCall(&node, torchRelu);
}

/// The dtype that a quantize call or `to` yields: its last positional argument.
static std::optional<DType> getResultDType(const Node *quantize) {
  if (!quantize || quantize->getArgs().empty() || !quantize->getArgs().back().isDType())
    return std::nullopt;
  return quantize->getArgs().back().getDType();
}

static std::optional<DynamicMatch> match(const LowerState &state, Node &node) {
  static const TargetInfo &quantizeDynamic = requireFunction("torch.quantize_per_tensor_dynamic");
  DynamicMatch found;
  found.call = &node;
  if (isSkippedRelu(state, node)) {
    found.relu = &node;
    found.call = node.getArgs().empty() ? nullptr : node.getArg(0).getNodeOrNull();
  }
  // A float value that somebody else reads as well must stay.
  if (!found.call || !found.call->is(Opcode::CallFunction) || (found.relu && !found.call->hasOneUser()) ||
      state.prepared.isExplicitlyNone(*found.call))
    return std::nullopt;
  if (!findRow(state, LoweringGroup::DynamicFunction, *found.call))
    return std::nullopt;
  const Argument *input = findOperand(*found.call, 0, "input"), *weight = findOperand(*found.call, 1, "weight");
  Node *inputDequantize = input ? input->getNodeOrNull() : nullptr;
  Node *weightDequantize = weight ? weight->getNodeOrNull() : nullptr;
  if (!isDequantize(inputDequantize) || !isDequantize(weightDequantize))
    return std::nullopt;
  found.quantize = inputDequantize->getArg(0).getNodeOrNull();
  found.quantizedWeight = weightDequantize->getArg(0).getNodeOrNull();
  if (!isFunctionCall(found.quantize, quantizeDynamic))
    return std::nullopt;
  std::optional<DType> weightDType = getResultDType(found.quantizedWeight);
  if (!weightDType || !found.quantize->getArg(1).isDType())
    return std::nullopt;
  found.activation = found.quantize->getArg(1).getDType();
  found.weight = *weightDType;
  return found;
}

llvm::Error lowerDynamicFunctions(LowerState &state) {
  Graph &graph = state.model.getGraph();
  llvm::DenseSet<Node *> erased;
  std::vector<Node *> nodes = graph.getNodeVector();
  for (Node *node : llvm::reverse(nodes)) { // larger patterns first
    if (erased.contains(node))
      continue;
    std::optional<DynamicMatch> found = match(state, *node);
    if (!found)
      continue;
    bool isInt8 = found->activation == DType::QUInt8 && found->weight == DType::QInt8;
    bool isHalf = found->activation == DType::Float16 && found->weight == DType::Float16;
    if (!isInt8 && !isHalf) {
      Diagnostic why = error(found->call->getLoc(), "'{0}' stays float: no quantized form of '{1}' takes activations of {2} and weights of {3}",
                             found->call->getName(), found->call->getTargetText(), getDTypeInfo(found->activation).torchName,
                             getDTypeInfo(found->weight).torchName)
                           .code("lower_dynamic_dtypes")
                           .take();
      if (llvm::Error err = state.context.missed("lower", *found->call, "dynamic", std::move(why)))
        return err;
      continue;
    }
    const LoweringRow *row = findRow(state, isHalf ? LoweringGroup::DynamicHalfFunction : LoweringGroup::DynamicFunction, *found->call);
    auto prepackArgs = makePrepackArgs(state, *found->call, *row->prepack, found->quantizedWeight);
    if (!prepackArgs)
      return prepackArgs.takeError();
    if (!*prepackArgs)
      continue;
    Node *packed;
    {
      auto insertPoint = Graph::InsertPoint::before(found->call);
      packed = graph.callFunction(*row->prepack, std::move(**prepackArgs));
      packed->setLoc(found->call->getLoc());
    }
    std::vector<Argument> args = {found->quantize->getArg(0), packed};
    if (isInt8 && found->quantize->getArgs().size() > 2)
      args.push_back(found->quantize->getArg(2)); // reduce_range
    found->call->setTarget(found->relu ? *row->toRelu : *row->to);
    found->call->setArgsAndKwargs(std::move(args), {});
    if (!found->relu)
      continue;
    setValueOrigin(*found->call, *found->relu);
    found->relu->replaceAllUsesWith(found->call);
    graph.erase(found->relu);
    erased.insert(found->relu);
  }
  return llvm::Error::success();
}

} // namespace qfx
