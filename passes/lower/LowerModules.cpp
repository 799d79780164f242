// Reference modules become quantized modules (workflow 6.1, 6.2).
#include "passes/lower/LowerDetail.h"

#include "backends/reference/ReferenceWeight.h"
#include "ir/Ops.h"
#include "ir/Text.h"
#include "passes/GraphUtils.h"
#include "passes/ModuleUtils.h"
#include "passes/WeightQParams.h"
#include "passes/config/ModuleFacts.h"
#include "passes/ValueOrigin.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

/// nnq.PReLU keeps its slope as quint8 codes measured by the qconfig's weight observer; one of another dtype or per channel is replaced by
/// MinMax quint8 affine (operators 13.1, known_traps B94).
static llvm::Expected<Tensor> quantizeByQConfig(const LowerState &state, const Node &call, const Tensor &weight) {
  const OptionalQConfig *entry = state.prepared.findQConfig(call);
  if (!entry || !*entry || !(*entry)->weight)
    return error(call.getLoc(), "'{0}' needs a qconfig with a weight observer to be lowered", call.getName()).code("lower_weight");
  auto observer = makeWeightSpec(*(*entry)->weight, "torch.nn.PReLU").build();
  if (!observer)
    return observer.takeError();
  auto qparams = measureWeight(**observer, weight, joinPath(call.getTargetText(), "weight"), call.getLoc());
  if (!qparams)
    return qparams.takeError();
  return quantizeTensor(weight, *qparams);
}

/// Replaces each weight of `module` by its quantized form, as the reference module's parameters say.
static llvm::Error quantizeWeights(Module &module, const Module &reference) {
  Module::Named<Tensor> parameters = module.getParameters();
  for (const auto &[name, weight] : parameters) {
    if (!startsWith(name, "weight"))
      continue;
    if (getWeightQParams(reference, name)) {
      auto quantized = getQuantizedWeight(reference, name);
      if (!quantized)
        return quantized.takeError();
      module.setParameter(name, std::move(*quantized));
    } else if (reference.getAttribute("weight_dtype") == Argument(DType::Float16)) {
      module.setParameter(name, saturateToHalf(weight));
    }
  }
  if (module.getClass()->getSignature().findSlot("dtype"))
    module.setAttribute("dtype", reference.getAttribute("weight_dtype"));
  return llvm::Error::success();
}

llvm::Expected<ModuleRef> makeQuantizedModule(const LowerState &state, const TargetInfo &target, const Node &call) {
  static const TargetInfo &prelu = requireModuleClass("torch.nn.PReLU");
  ModuleRef source = state.model.getModule(call);
  ModuleRef root = source->getClass()->getOp().has(Traits::Composite) ? source->findChild("0") : source;
  ModuleRef module = makeModuleFrom(target, *root);
  if (root != source) // attributes of a post-operator, such as negative_slope
    for (const auto &[name, child] : source->getChildren())
      for (const SlotInfo &slot : target.getSignature().getSlots())
        if (const Argument *value = child == root || root->findAttribute(slot.name) ? nullptr : child->findAttribute(slot.name))
          module->setAttribute(slot.name, *value);
  if (root->findAttribute("weight_dtype")) {
    if (llvm::Error err = quantizeWeights(*module, *root))
      return err;
  } else if (root->isA(prelu)) {
    auto weight = quantizeByQConfig(state, call, root->getTensor("weight"));
    if (!weight)
      return weight.takeError();
    module->setParameter("weight", std::move(*weight));
  }
  if (const Tensor *bias = module->findTensor("bias"); bias && isQuantized(module->getTensor("weight").getDType()))
    if (llvm::Error err = checkFinite(*bias, "bias", joinPath(call.getTargetText(), "bias"), call.getLoc()))
      return err;
  return module;
}

/// The row that lowers this call statically: a reference module, or a fused module around the right one.
static const LoweringRow *findStaticRow(const LowerState &state, const Node &call) {
  if (const LoweringRow *row = findRow(state, LoweringGroup::StaticModule, call))
    return row;
  const LoweringRow *row = findRow(state, LoweringGroup::StaticFused, call);
  if (!row)
    return nullptr;
  ModuleRef inner = state.model.getModule(call)->findChild("0");
  return inner && inner->isA(*row->inner) ? row : nullptr;
}

llvm::Error lowerStaticModules(LowerState &state) {
  std::vector<StaticMatch> matches;
  ModuleCalls calls;
  for (Node &node : state.model.getGraph().nodes()) {
    auto pattern = matchStaticPattern(state, node);
    if (!pattern || !pattern->ref->is(Opcode::CallModule) || !areDequantized(*pattern->ref, 1) || !pattern->ref->hasOneUser())
      continue;
    const LoweringRow *row = findStaticRow(state, *pattern->ref);
    // QFX: a relu that fusion left behind the module moves into it; upstream lowers without it and loses it.
    const TargetInfo *target = row ? pattern->relu ? row->toRelu : row->to : nullptr;
    if (!target)
      continue;
    calls.add(*pattern->ref, *target, getOutputQParams(state, node));
    matches.push_back(*pattern);
  }
  if (llvm::Error err = calls.place(state))
    return err;
  for (const auto &[quantize, relu, ref] : matches) {
    auto [scaleNode, zeroPointNode] = getQParamNodes(*quantize);
    Node *dequantize = ref->getArg(0).getNode();
    ref->replaceInputWith(dequantize, dequantize->getArg(0).getNode());
    quantize->replaceAllUsesWith(ref);
    state.model.getGraph().erase(quantize);
    eraseIfUnused(state.model.getGraph(), {scaleNode, zeroPointNode});
    if (relu) {
      setValueOrigin(*ref, *relu);
      state.model.getGraph().erase(relu);
    }
  }
  return llvm::Error::success();
}

llvm::Error lowerTwoInputModules(LowerState &state) {
  ModuleCalls calls;
  for (Node *node : state.model.getGraph().getNodeVector()) {
    auto pattern = matchStaticPattern(state, *node);
    if (!pattern || pattern->relu || !pattern->ref->is(Opcode::CallModule) || pattern->ref->getArgs().size() != 2)
      continue;
    Node *ref = pattern->ref;
    const LoweringRow *row = findRow(state, LoweringGroup::StaticTwoInputs, *ref);
    ModuleRef inner = row ? state.model.getModule(*ref)->findChild("0") : nullptr;
    if (!inner || !inner->isA(*row->inner) || !isDequantize(ref->getArg(0).getNodeOrNull()) ||
        !isDequantize(ref->getArg(1).getNodeOrNull()))
      continue;
    calls.add(*ref, *row->to, getOutputQParams(state, *node));
    for (size_t i = 0; i < 2; ++i) {
      Node *dequantize = ref->getArg(i).getNode();
      if (isDequantize(dequantize))
        ref->replaceInputWith(dequantize, dequantize->getArg(0).getNode());
    }
    auto [scaleNode, zeroPointNode] = getQParamNodes(*node);
    node->replaceAllUsesWith(ref);
    state.model.getGraph().erase(node);
    eraseIfUnused(state.model.getGraph(), {scaleNode, zeroPointNode});
  }
  return calls.place(state);
}

llvm::Error lowerDynamicModules(LowerState &state) {
  static const TargetInfo &quantizeDynamic = requireFunction("torch.quantize_per_tensor_dynamic");
  ModuleCalls calls;
  for (Node *node : state.model.getGraph().getNodeVector()) {
    const LoweringRow *row = findRow(state, LoweringGroup::DynamicModule, *node);
    if (!row && (row = findRow(state, LoweringGroup::DynamicFused, *node))) {
      ModuleRef inner = state.model.getModule(*node)->findChild("0");
      if (!inner || !inner->isA(*row->inner))
        row = nullptr;
    }
    Node *dequantize = row && !node->getArgs().empty() ? node->getArg(0).getNodeOrNull() : nullptr;
    Node *quantize = isDequantize(dequantize) ? dequantize->getArg(0).getNodeOrNull() : nullptr;
    if (!quantize || !isFunctionCall(quantize, quantizeDynamic))
      continue;
    DType dtype = quantize->getArg(1).getDType();
    if (dtype != DType::QUInt8 && dtype != DType::QInt8 && dtype != DType::Float16)
      continue;
    calls.add(*node, *row->to, std::nullopt);
    node->replaceInputWith(dequantize, quantize->getArg(0).getNode());
  }
  return calls.place(state);
}

llvm::Error lowerWeightOnlyModules(LowerState &state) {
  for (Node &node : state.model.getGraph().nodes()) {
    const LoweringRow *row = findRow(state, LoweringGroup::WeightOnlyModule, node);
    if (!row || skipsIndices(*state.model.getModule(node)))
      continue;
    auto module = makeQuantizedModule(state, *row->to, node);
    if (!module)
      return module.takeError();
    state.model.getRoot().setModule(node.getTargetText(), *module);
  }
  return llvm::Error::success();
}

} // namespace qfx
