// dequantize(s) -> op -> quantize of operators that need no weight (workflow 6.6).
#include "passes/lower/LowerDetail.h"

#include "ir/Ops.h"
#include "passes/GraphUtils.h"
#include "passes/ValueOrigin.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

static constexpr LoweringGroup kSpecialGroups[] = {LoweringGroup::FixedQParams, LoweringGroup::Default, LoweringGroup::Copy,
                                                   LoweringGroup::Shape, LoweringGroup::Other};

static const LoweringRow *findSpecialRow(const LowerState &state, const Node &node) {
  for (LoweringGroup group : kSpecialGroups)
    if (const LoweringRow *row = findRow(state, group, node))
      return row;
  return nullptr;
}

/// The dequantize nodes that feed the first operand; empty unless it is one, or a list of nothing else.
static std::vector<Node *> getDequantizedOperands(const Node &ref) {
  const Argument *first = !ref.getArgs().empty() ? &ref.getArg(0) : !ref.getKwargs().empty() ? &ref.getKwargs().front().second : nullptr;
  if (!first)
    return {};
  if (Node *node = first->getNodeOrNull())
    return isDequantize(node) ? std::vector<Node *>{node} : std::vector<Node *>();
  std::vector<Node *> nodes;
  if (first->isSequence())
    for (const Argument &element : first->getElements()) {
      if (!isDequantize(element.getNodeOrNull()))
        return {};
      nodes.push_back(element.getNode());
    }
  return nodes;
}

/// Keywords of float functionals that their quantized twins do not have.
static bool isKeywordKept(const TargetInfo &target, llvm::StringRef key) { return target.getSignature().findSlot(key) != nullptr; }

/// F.hardswish(x, inplace=False) -> quantized.hardswish(x, output_scale=s, output_zero_point=z), behind the zero point node.
static void callQuantizedFunction(Graph &graph, Node &ref, const TargetInfo &target, Node *scaleNode, Node *zeroPointNode) {
  Kwargs kwargs;
  for (const auto &[key, value] : ref.getKwargs())
    if (isKeywordKept(target, key))
      kwargs.emplace_back(key, value);
  kwargs.emplace_back("output_scale", scaleNode);
  kwargs.emplace_back("output_zero_point", zeroPointNode);
  auto insertPoint = Graph::InsertPoint::after(zeroPointNode);
  Node *call = graph.callFunction(target, ref.getArgs(), std::move(kwargs));
  call->setLoc(ref.getLoc());
  setValueOrigin(*call, ref);
  ref.replaceAllUsesWith(call);
  graph.erase(&ref);
}

llvm::Error lowerSpecialPatterns(LowerState &state) {
  static const TargetInfo &quantizePerTensor = requireFunction("torch.quantize_per_tensor");
  static const TargetInfo &toMethod = requireMethod("to");
  Graph &graph = state.model.getGraph();
  for (Node *quantize : graph.getNodeVector()) {
    bool isQuantize = isFunctionCall(quantize, quantizePerTensor);
    bool isHalf = quantize->is(Opcode::CallMethod) && quantize->getTarget() == &toMethod && quantize->getArgs().size() == 2 &&
                  quantize->getArg(1) == Argument(DType::Float16);
    Node *ref = isQuantize || isHalf ? quantize->getArg(0).getNodeOrNull() : nullptr;
    const LoweringRow *row = ref ? findSpecialRow(state, *ref) : nullptr;
    if (!row || (isHalf && (row->group == LoweringGroup::FixedQParams || row->group == LoweringGroup::Default)))
      continue;
    std::vector<Node *> dequantizes = getDequantizedOperands(*ref);
    // A float reader of the result besides this quantize would receive codes instead.
    if (dequantizes.empty() || !ref->hasOneUser())
      continue;
    if (ref->is(Opcode::CallModule) && row->to && isQuantize) {
      OutputQParams output = getOutputQParams(state, *quantize);
      auto module = makeQuantizedModule(state, *row->to, *ref, &output);
      if (!module)
        return module.takeError();
      state.model.getRoot().setModule(ref->getTargetText(), *module);
    }
    for (Node *dequantize : dequantizes)
      ref->replaceInputWith(dequantize, dequantize->getArg(0).getNode());
    auto [scaleNode, zeroPointNode] = isQuantize ? getQParamNodes(*quantize) : std::pair<Node *, Node *>();
    quantize->replaceAllUsesWith(ref);
    graph.erase(quantize);
    if (row->group == LoweringGroup::Default && ref->is(Opcode::CallFunction))
      callQuantizedFunction(graph, *ref, *row->to, scaleNode, zeroPointNode);
    else
      eraseIfUnused(graph, {scaleNode, zeroPointNode});
  }
  return llvm::Error::success();
}

} // namespace qfx
