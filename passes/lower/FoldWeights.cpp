// Prepack calls whose operands are constants are run once; the graph then reads the packed weight (workflow 6.7).
#include "passes/lower/LowerDetail.h"

#include "backends/observe/Observer.h"
#include "ir/Bind.h"
#include "ir/Ops.h"
#include "passes/ConstantValue.h"
#include "passes/GraphUtils.h"
#include "passes/WeightQParams.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>

namespace qfx {

static bool isPrepack(const Node &node) {
  static const auto prepacks = [] {
    llvm::DenseSet<const TargetInfo *> set;
    for (const LoweringRow &row : getLoweringRows())
      if (row.prepack)
        set.insert(row.prepack);
    return set;
  }();
  return node.is(Opcode::CallFunction) && prepacks.count(node.getTarget());
}

/// The value that `arg` brings to `user`: an attribute of the model, or what is computed from attributes alone.
static llvm::Expected<Tensor> readConstant(const LowerState &state, const Argument &arg, const Node &user) {
  Node *node = arg.getNodeOrNull();
  auto value = node ? evaluateConstant(state.model, *node, state.context) : llvm::Expected<Tensor>(Tensor());
  if (value && *value)
    return value;
  auto problem = error(user.getLoc(), "'{0}' can only be packed from what parameters and buffers decide, got '{1}'", user.getName(),
                       toString(arg, ArgumentStyle::Repr))
                     .code("lower_fold");
  return value ? llvm::Error(std::move(problem)) : llvm::joinErrors(std::move(problem), value.takeError());
}

/// Evaluates torch.quantize_per_tensor / quantize_per_channel of constants.
static llvm::Expected<Tensor> evaluateQuantize(const LowerState &state, const Node &quantize) {
  auto bound = bindCall(quantize, state.model);
  if (!bound)
    return bound.takeError();
  const BoundSlot *axis = bound->find("axis");
  auto input = readConstant(state, bound->get("input").arg, quantize);
  auto scale = readConstant(state, bound->get(axis ? "scales" : "scale").arg, quantize);
  auto zeroPoint = readConstant(state, bound->get(axis ? "zero_points" : "zero_point").arg, quantize);
  if (!input || !scale || !zeroPoint)
    return llvm::joinErrors(input.takeError(), llvm::joinErrors(scale.takeError(), zeroPoint.takeError()));
  QParams qparams;
  qparams.dtype = bound->get("dtype").arg.getDType();
  qparams.scheme = axis ? QScheme::PerChannelAffine : QScheme::PerTensorAffine;
  qparams.axis = axis ? axis->arg.getInt() : 0;
  for (int64_t i = 0, n = scale->getNumElements(); i < n; ++i) {
    qparams.scales.push_back(static_cast<float>(scale->getElementAsDouble(i)));
    qparams.zeroPoints.push_back(static_cast<int64_t>(zeroPoint->getElementAsDouble(i)));
  }
  return quantizeTensor(*input, qparams);
}

/// Evaluates `to(w, torch.float16)` of a constant; values beyond the range saturate, as linear_prepack_fp16 has it.
static llvm::Expected<Tensor> evaluateHalf(const LowerState &state, const Node &to) {
  auto input = readConstant(state, to.getArg(0), to);
  if (!input)
    return input;
  return saturateToHalf(*input);
}

/// The weight that a prepack call takes: a quantize call or float16 cast of constants, or an attribute that is quantized already.
static llvm::Expected<Tensor> evaluateWeight(const LowerState &state, const Argument &weight, const Node &prepack) {
  static const TargetInfo &perTensor = requireFunction("torch.quantize_per_tensor");
  static const TargetInfo &perChannel = requireFunction("torch.quantize_per_channel");
  const Node *source = weight.getNodeOrNull();
  if (isFunctionCall(source, perTensor) || isFunctionCall(source, perChannel))
    return evaluateQuantize(state, *source);
  static const TargetInfo &toMethod = requireMethod("to");
  if (source && source->is(Opcode::CallMethod) && source->getTarget() == &toMethod)
    return evaluateHalf(state, *source);
  auto tensor = readConstant(state, weight, prepack);
  if (tensor && !isQuantized(tensor->getDType()))
    return error(prepack.getLoc(), "'{0}' wants a quantized weight, got {1}", prepack.getName(), toString(tensor->getType())).code("lower_fold");
  return tensor;
}

/// The class of packed weights of this rank: linear, or convolution with one to three spatial axes.
static const TargetInfo &getPackedClass(size_t rank) {
  if (rank == 2)
    return requireModuleClass("torch.classes.quantized.LinearPackedParamsBase");
  return requireModuleClass("torch.classes.quantized.Conv" + std::to_string(rank - 2) + "dPackedParamsBase");
}

/// The module of packed weights that a prepack call yields: class by the weight's rank, geometry as attributes.
static llvm::Expected<ModuleRef> evaluatePrepack(const LowerState &state, const Node &prepack) {
  auto bound = bindCall(prepack, state.model);
  if (!bound)
    return bound.takeError();
  auto weight = evaluateWeight(state, bound->slots.front().arg, prepack);
  if (!weight)
    return weight.takeError();
  if (weight->getRank() < 2 || weight->getRank() > 5)
    return error(prepack.getLoc(), "'{0}' wants a weight of rank 2 to 5, got {1}", prepack.getName(),
                 toString(weight->getType()))
        .code("lower_fold");
  auto module = std::make_shared<Module>(getPackedClass(weight->getRank()));
  module->setLoc(prepack.getLoc());
  if (bound->find("output_padding"))
    module->setAttribute("transpose", true);
  module->setParameter("weight", std::move(*weight));
  for (const BoundSlot &slot : llvm::drop_begin(bound->slots)) {
    if (slot.info->type != SlotType::Tensor) {
      module->setAttribute(slot.info->name, slot.arg);
    } else if (!slot.arg.isNone()) {
      auto bias = readConstant(state, slot.arg, prepack);
      if (!bias)
        return bias.takeError();
      if (llvm::Error err = checkFinite(*bias, "bias", toString(slot.arg, ArgumentStyle::Repr), prepack.getLoc()))
        return err;
      module->setParameter("bias", std::move(*bias));
    }
  }
  return module;
}

/// The float weight and bias below a prepack call, under the packed attribute's name.
static void keepOriginalWeights(LowerState &state, const Node &prepack, llvm::StringRef packedName) {
  std::string key = packedName.lower();
  std::replace_if(key.begin(), key.end(), [](char c) { return c == ':' || c == '/' || c == '|'; }, '_');
  auto kept = std::make_shared<Module>();
  for (Node *producer : collectProducers(const_cast<Node *>(&prepack))) {
    const Tensor *tensor = producer->is(Opcode::GetAttr) ? state.model.getRoot().findTensorAt(producer->getTargetText()) : nullptr;
    bool isDirect = llvm::is_contained(producer->getUsers(), &prepack);
    bool isWeight = tensor && tensor->getRank() >= 2;
    if (isWeight || (tensor && isDirect))
      kept->setParameter(isWeight ? "weight" : "bias", *tensor);
  }
  state.model.getRoot().setModule(joinPath(kOriginalWeights, key), kept);
}

llvm::Error foldWeights(LowerState &state) {
  Graph &old = state.model.getGraph();
  llvm::DenseMap<const Node *, Node *> foldedInto; // producer (and the prepack itself) -> its prepack
  for (Node &node : old.nodes())
    if (isPrepack(node))
      for (Node *producer : collectProducers(&node))
        foldedInto[producer] = &node;
  if (foldedInto.empty())
    return llvm::Error::success();
  llvm::DenseSet<const Node *> kept; // producers that a call which stays float reads as well
  for (const Node &node : llvm::reverse(old.nodes()))
    if (Node *prepack = foldedInto.lookup(&node); prepack && prepack != &node)
      if (llvm::any_of(node.getUsers(), [&](const Node *user) { return kept.contains(user) || !foldedInto.count(user); }))
        kept.insert(&node);

  AttrNamer names;
  auto folded = std::make_unique<Graph>();
  llvm::DenseMap<const Node *, Node *> copies;
  for (Node &node : old.nodes()) {
    Node *prepack = foldedInto.lookup(&node);
    if (!prepack || kept.contains(&node)) {
      copies[&node] = folded->copyNode(node, [&](Node *input) -> Argument { return copies.lookup(input); });
      continue;
    }
    if (prepack != &node)
      continue;
    auto packed = evaluatePrepack(state, node);
    if (!packed)
      return packed.takeError();
    const Node *user = node.getUsers().front();
    std::string path = user->getScope() ? user->getScope()->path : std::string();
    std::string name = names.getNewName(state.model.getRoot(), path + "_packed_weight_");
    state.model.getRoot().setChild(name, *packed);
    if (state.options.keepOriginalWeights)
      keepOriginalWeights(state, node, name);
    copies[&node] = folded->getAttr(name);
    copies[&node]->setLoc(node.getLoc());
  }
  state.model.setGraph(std::move(folded));
  return llvm::Error::success();
}

} // namespace qfx
