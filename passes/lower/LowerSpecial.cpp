// dequantize(s) -> op -> quantize of operators that need no weight (workflow 6.6).
#include "passes/lower/LowerDetail.h"

#include "ir/Bind.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "passes/GraphUtils.h"
#include "passes/ValueOrigin.h"
#include "passes/lower/CodesQParams.h"
#include "passes/lower/QuantizedCat.h"

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

static bool isOutputParameter(const SlotInfo &slot) { return slot.name == "output_scale" || slot.name == "output_zero_point"; }

/// Has PyTorch's schema no default here?  (The table lets optional tensors be left out, `Tensor? weight` of a schema does not.)
static bool isRequired(const SlotInfo &slot) { return !slot.isOptional || slot.type == SlotType::Tensor; }

/// What an argument says: the operator's slot that it fills, or its own name where it is accepted and fills none (`inplace`).
static llvm::StringRef getMeaning(const SlotInfo &slot) { return slot.target.empty() ? slot.name : slot.target; }

/// Do the float call's arguments mean the same in its quantized twin, and lack nothing that the twin has no default for?
static bool fitsTwin(const Node &ref, const TargetInfo &twin, const Kwargs &kwargs) {
  llvm::ArrayRef<SlotInfo> floatSlots = ref.getTarget()->getSignature().getSlots(), slots = twin.getSignature().getSlots();
  size_t numPositional = ref.getArgs().size();
  if (numPositional > std::min(floatSlots.size(), slots.size()))
    return false;
  for (size_t i = 0; i < numPositional; ++i)
    if (getMeaning(floatSlots[i]) != getMeaning(slots[i]) || isOutputParameter(slots[i]))
      return false;
  return llvm::all_of(slots.drop_front(numPositional), [&](const SlotInfo &slot) {
    return !isRequired(slot) || isOutputParameter(slot) ||
           llvm::any_of(kwargs, [&](const auto &given) { return given.first == slot.name; });
  });
}

/// F.hardswish(x, inplace=False) -> quantized.hardswish(x, output_scale=s, output_zero_point=z), behind the zero point node.  Upstream hands
/// on what the float call had; where that would not be a call of the twin (F.leaky_relu(x, 0.25) lacks `inplace`, F.dropout's p stands where
/// the twin has its scale), its arguments go by name and the float function's defaults are written out (qfx rule).
static llvm::Error callQuantizedFunction(GraphModule &model, Node &ref, const TargetInfo &target, const Argument &scale,
                                         const Argument &zeroPoint) {
  Graph &graph = model.getGraph();
  std::vector<Argument> args = ref.getArgs().vec();
  Kwargs kwargs;
  for (const auto &[key, value] : ref.getKwargs())
    if (isKeywordKept(target, key))
      kwargs.emplace_back(key, value);
  if (!fitsTwin(ref, target, kwargs)) {
    auto bound = bindCall(ref, model);
    if (!bound)
      return bound.takeError();
    args = {bound->get("input").arg};
    kwargs.clear();
    for (const SlotInfo &slot : target.getSignature().getSlots().drop_front())
      if (const BoundSlot *value = bound->find(getMeaning(slot)); value && (value->isGiven || isRequired(slot)))
        kwargs.emplace_back(slot.name, value->arg);
  }
  kwargs.emplace_back("output_scale", scale);
  kwargs.emplace_back("output_zero_point", zeroPoint);
  Node *zeroPointNode = zeroPoint.getNodeOrNull();
  auto insertPoint = Graph::InsertPoint::after(zeroPointNode ? zeroPointNode : &ref);
  Node *call = graph.callFunction(target, std::move(args), std::move(kwargs));
  call->setLoc(ref.getLoc());
  setValueOrigin(*call, ref);
  ref.replaceAllUsesWith(call);
  graph.erase(&ref);
  return llvm::Error::success();
}

/// size, shape, dim: the same of codes as of floats.
static bool readsShape(const Node &node) {
  return node.getTarget() && node.getTarget()->getOp().has(Traits::HostValue) && node.getTarget()->text != "builtins.getattr";
}

/// getattr(x, "shape") and "ndim".
static bool readsShapeAttribute(const Node &node) {
  static const TargetInfo &getAttribute = requireFunction("builtins.getattr");
  return isFunctionCall(&node, getAttribute) && node.getArgs().size() == 2 &&
         (node.getArg(1) == Argument("shape") || node.getArg(1) == Argument("ndim"));
}

/// May `ref` give codes, since besides `quantize` only questions about its shape read it?  A function's twin stands behind the quantize's
/// parameters, so that it must have no other reader.
static bool mayGiveCodes(const Node &ref, const Node &quantize, const LoweringRow &row) {
  if (row.group == LoweringGroup::Default && ref.is(Opcode::CallFunction))
    return ref.hasOneUser();
  return llvm::all_of(ref.getUsers(), [&](const Node *user) { return user == &quantize || readsShape(*user) || readsShapeAttribute(*user); });
}

/// Would codes joined behind `firstCodes`, whose parameters they would take, have others than `quantize` says?  They do where the first operand
/// is a sigmoid or a dropout, or where the join has no qconfig and its operands share no observer; values beyond its range would be cut off (qfx rule).
static bool joinsOtherQParams(const LowerState &state, const CodesQParams &qparams, const Node &quantize, const Node &firstCodes) {
  std::optional<OutputQParams> codes = qparams.find(firstCodes, quantize.getArg(3).getDType());
  return codes && !(*codes == getOutputQParams(state, quantize));
}

/// Would the quantized form give something else (qfx rules)?  Its instance norm knows no running statistics, and 32-bit codes of a fixed scale of
/// 2^-32 end at 0.5.
static bool differsWhenLowered(const LowerState &state, const Node &ref, const LoweringRow &row, const Node &quantize) {
  if (row.group == LoweringGroup::FixedQParams)
    return quantize.getArg(3) == Argument(DType::QInt32);
  if (row.from->op != OpKind::InstanceNorm)
    return false;
  auto bound = bindCall(ref, state.model);
  if (!bound) {
    llvm::consumeError(bound.takeError());
    return true;
  }
  const BoundSlot *isTracking = bound->find("track_running_stats"), *readsInput = bound->find("use_input_stats");
  return (isTracking && isTracking->arg == Argument(true)) || (readsInput && readsInput->arg == Argument(false));
}

llvm::Error lowerSpecialPatterns(LowerState &state) {
  static const TargetInfo &toMethod = requireMethod("to");
  Graph &graph = state.model.getGraph();
  ModuleCalls calls;
  CodesQParams qparams(state);
  for (Node *quantize : graph.getNodeVector()) {
    bool isQuantize = isStaticQuantize(state, *quantize);
    bool isHalf = quantize->is(Opcode::CallMethod) && quantize->getTarget() == &toMethod && quantize->getArgs().size() == 2 &&
                  quantize->getArg(1) == Argument(DType::Float16);
    Node *ref = isQuantize || isHalf ? quantize->getArg(0).getNodeOrNull() : nullptr;
    const LoweringRow *row = ref ? findSpecialRow(state, *ref) : nullptr;
    if (!row || (isHalf && (row->group == LoweringGroup::FixedQParams || row->group == LoweringGroup::Default)))
      continue;
    std::vector<Node *> dequantizes = getDequantizedOperands(*ref);
    // A float reader of the result besides this quantize would receive codes instead.
    if (dequantizes.empty() || !mayGiveCodes(*ref, *quantize, *row))
      continue;
    static const TargetInfo &prelu = requireModuleClass("torch.nn.PReLU");
    bool isPrelu = ref->is(Opcode::CallModule) && state.model.getModule(*ref)->isA(prelu);
    if (isPrelu && state.prepared.isExplicitlyNone(*ref)) // its slope is measured by the qconfig's observer
      continue;
    if (isQuantize && differsWhenLowered(state, *ref, *row, *quantize))
      continue;
    const Node &firstCodes = *dequantizes.front()->getArg(0).getNode();
    if (isQuantize && isJoin(*ref) && joinsOtherQParams(state, qparams, *quantize, firstCodes)) {
      if (!getJoinedCodes(*quantize).empty())
        lowerToQuantizedCat(*quantize);
      continue; // any other join stays in float
    }
    if (isQuantize)
      qparams.replace(*quantize, *ref, *row, firstCodes);
    if (ref->is(Opcode::CallModule) && row->to && isQuantize)
      calls.add(*ref, *row->to, getOutputQParams(state, *quantize));
    for (Node *dequantize : dequantizes)
      ref->replaceInputWith(dequantize, dequantize->getArg(0).getNode());
    const std::vector<Argument> quantizeArgs = quantize->getArgs().vec();
    quantize->replaceAllUsesWith(ref);
    graph.erase(quantize);
    if (row->group == LoweringGroup::Default && ref->is(Opcode::CallFunction)) {
      if (llvm::Error err = callQuantizedFunction(state.model, *ref, *row->to, quantizeArgs[1], quantizeArgs[2]))
        return err;
    } else if (isQuantize) {
      eraseIfUnused(graph, {quantizeArgs[1].getNodeOrNull(), quantizeArgs[2].getNodeOrNull()});
    }
  }
  return calls.place(state);
}

} // namespace qfx
