// Finding, scaling and replacing the tensors of equalized layers.
#include "passes/convert/EqualizedLayer.h"

#include "backends/observe/EqualizationObserver.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "passes/GraphUtils.h"
#include "passes/equalize/EqualizationScale.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

static const Tensor *findTensor(const GraphModule &model, const ModuleRef &owner, llvm::StringRef name, const std::string &path) {
  if (owner)
    return owner->findTensor(name);
  return path.empty() ? nullptr : model.getRoot().findTensorAt(path);
}

const Tensor *LayerWeights::findWeight(const GraphModule &model) const { return findTensor(model, owner, "weight", weightPath); }
const Tensor *LayerWeights::findBias(const GraphModule &model) const { return findTensor(model, owner, "bias", biasPath); }

static ModuleRef getObserverOf(const GraphModule &model, const Node &node) {
  ModuleRef module = node.is(Opcode::CallModule) ? model.getModule(node) : nullptr;
  return module && isObserver(*module) ? module : nullptr;
}

static int64_t getInt(const Argument *argument, int64_t fallback) { return argument && argument->isInt() ? argument->getInt() : fallback; }

/// Is `path` read once in the graph, by `reader`?
static bool isReadOnce(const GraphModule &model, const Node &reader) {
  return reader.hasOneUser() && llvm::none_of(model.getGraph().nodes(), [&](const Node &node) {
           return &node != &reader && node.is(Opcode::GetAttr) && node.getTargetText() == reader.getTargetText();
         });
}

static LayerWeights refuse(std::string problem) {
  LayerWeights weights;
  weights.problem = std::move(problem);
  return weights;
}

static LayerWeights findModuleWeights(const GraphModule &model, const Node &call) {
  LayerWeights weights;
  weights.owner = getWeightOwner(call, model);
  if (!weights.owner)
    return refuse("its module has no weight");
  for (const Node &node : model.getGraph().nodes())
    if (&node != &call && node.is(Opcode::CallModule) && getWeightOwner(node, model) == weights.owner)
      return refuse("its module is called several times");
  weights.groups = getInt(weights.owner->findAttribute("groups"), 1);
  return weights;
}

static LayerWeights findFunctionWeights(const GraphModule &model, const Node &call) {
  LayerWeights weights;
  weights.hasEqualization = false;
  const Argument *operand = findOperand(call, 1, "weight");
  const Node *node = operand ? operand->getNodeOrNull() : nullptr;
  for (; node; node = node->getArg(0).getNodeOrNull()) {
    ModuleRef observer = getObserverOf(model, *node);
    if (!observer)
      break;
    if (isEqualizationObserver(*observer))
      weights.hasEqualization = true;
    else
      weights.weightObserver = observer;
    if (!node->hasOneUser())
      return refuse("others read its observed weight");
  }
  if (!node || !node->is(Opcode::GetAttr))
    return refuse("its weight is not a constant of the model");
  if (!isReadOnce(model, *node))
    return refuse("others read its weight");
  weights.weightPath = node->getTargetText().str();
  if (const Argument *bias = findOperand(call, 2, "bias"); bias && bias->isNode()) {
    const Node *biasNode = bias->getNode();
    if (!biasNode->is(Opcode::GetAttr) || !isReadOnce(model, *biasNode))
      weights.biasPath.clear();
    else
      weights.biasPath = biasNode->getTargetText().str();
  }
  weights.groups = getInt(findOperand(call, 6, "groups"), 1);
  return weights;
}

LayerWeights findLayerWeights(const GraphModule &model, const Node &call) {
  LayerWeights weights = call.is(Opcode::CallModule) ? findModuleWeights(model, call) : findFunctionWeights(model, call);
  if (!weights.problem.empty())
    return weights;
  const Tensor *weight = weights.findWeight(model);
  if (!weight || weight->getDType() != DType::Float32 || weight->getRank() < 2 || weight->getNumElements() == 0 || weights.groups < 1 ||
      weight->getSizes()[0] % weights.groups != 0)
    return refuse("its weight is no float32 tensor of rows and columns");
  return weights;
}

llvm::Expected<EqualizedLayer> measureLayer(const Module &inputObserver, const Node &call, LayerWeights weights, const GraphModule &model) {
  EqualizedLayer layer;
  layer.weights = std::move(weights);
  llvm::Expected<ColumnsSeen> seen = readColumns(inputObserver);
  if (!seen)
    return seen.takeError();
  layer.axis = seen->axis;
  layer.mins = std::move(seen->mins);
  layer.maxs = std::move(seen->maxs);
  if (layer.mins.empty() || !layer.weights.hasEqualization)
    return layer;
  const EqualizableCall &row = *findEqualizableCall(call, model);
  ColumnRanges weightRanges = findWeightColumns(*layer.weights.findWeight(model), layer.weights.groups);
  layer.shape.assign(seen->rank, 1);
  layer.shape[static_cast<size_t>(layer.axis)] = static_cast<int64_t>(layer.mins.size());
  if (row.getChannelAxis(seen->rank) != std::optional(layer.axis) || weightRanges.mins.size() != layer.mins.size())
    return error(call.getLoc(), "'{0}' has {1} input channels; its equalization observer looked at {2} along axis {3} of {4}", call.getName(),
                 weightRanges.mins.size(), layer.mins.size(), layer.axis, seen->rank)
        .code("equalization_columns");
  layer.scale = calculateEqualizationScale({layer.mins, layer.maxs}, weightRanges);
  return layer;
}

static bool isRelu(const GraphModule &model, const Node &node) {
  static const TargetInfo &function = requireFunction("torch.nn.functional.relu");
  static const TargetInfo &moduleClass = requireModuleClass("torch.nn.ReLU");
  if (node.is(Opcode::CallModule)) {
    ModuleRef module = model.getModule(node);
    return module && module->isA(moduleClass);
  }
  return isFunctionCall(&node, function);
}

Node *findScalableProducer(const GraphModule &model, Node &source) {
  if (findEqualizableCall(source, model))
    return &source;
  if (!isRelu(model, source) || source.getArgs().empty())
    return nullptr;
  Node *producer = source.getArg(0).getNodeOrNull();
  return producer && producer->hasOneUser() && findEqualizableCall(*producer, model) ? producer : nullptr;
}

bool takesScale(const LayerWeights &producer, const Node &producerCall, const EqualizedLayer &layer, const GraphModule &model) {
  const bool hasForeignBias = !producer.owner && producer.biasPath.empty() && findOperand(producerCall, 2, "bias") &&
                              findOperand(producerCall, 2, "bias")->isNode();
  if (hasForeignBias)
    return false;
  if (const Tensor *bias = producer.findBias(model);
      bias && (bias->getDType() != DType::Float32 || bias->getRank() != 1 || bias->getSizes()[0] != producer.findWeight(model)->getSizes()[0]))
    return false;
  if (layer.scale.empty())
    return true; // nothing to take
  return findEqualizableCall(producerCall, model)->getChannelAxis(layer.shape.size()) == std::optional(layer.axis) &&
         producer.findWeight(model)->getSizes()[0] == static_cast<int64_t>(layer.scale.size());
}

static void replaceTensor(Module &owner, llvm::StringRef name, Tensor tensor) {
  const bool isParameter = llvm::any_of(owner.getParameters(), [&](const auto &entry) { return entry.first == name; });
  isParameter ? owner.setParameter(name, std::move(tensor)) : owner.setBuffer(name, std::move(tensor));
}

static void replaceTensorAt(GraphModule &model, const ModuleRef &owner, llvm::StringRef name, const std::string &path, Tensor tensor) {
  if (owner)
    return replaceTensor(*owner, name, std::move(tensor));
  auto [parent, last] = splitPath(path);
  ModuleRef module = parent.empty() ? nullptr : model.getRoot().findModule(parent);
  replaceTensor(module ? *module : model.getRoot(), last, std::move(tensor));
}

static llvm::Error replaceWeight(GraphModule &model, const LayerWeights &weights, Tensor tensor) {
  replaceTensorAt(model, weights.owner, "weight", weights.weightPath, std::move(tensor));
  if (!weights.weightObserver)
    return llvm::Error::success();
  // The ranges of the old weight: convert's weight observers look again.
  ModuleRef inner = weights.weightObserver->findChild("activation_post_process");
  Module &observer = inner ? *inner : *weights.weightObserver;
  return findObserver(observer)->construct(observer);
}

llvm::Error divideWeight(GraphModule &model, const EqualizedLayer &layer) {
  return replaceWeight(model, layer.weights, divideColumns(*layer.weights.findWeight(model), layer.scale, layer.weights.groups));
}

llvm::Error multiplyOutput(GraphModule &model, const LayerWeights &producer, llvm::ArrayRef<float> scale) {
  if (llvm::Error err = replaceWeight(model, producer, multiplyRows(*producer.findWeight(model), scale)))
    return err;
  if (const Tensor *bias = producer.findBias(model))
    replaceTensorAt(model, producer.owner, "bias", producer.biasPath, multiplyRows(*bias, scale));
  return llvm::Error::success();
}

llvm::Error scaleObservedRange(Module &observer, const EqualizedLayer &layer, const Location &loc) {
  ModuleRef inner = observer.findChild("activation_post_process");
  Module &target = inner ? *inner : observer;
  const Tensor *low = target.findTensor("min_val"), *high = target.findTensor("max_val");
  if (!low || !high)
    return llvm::Error::success(); // dynamic, fixed and placeholder observers
  if (target.findTensor("first_cell") || low->getRank() != 0)
    return error(loc, "the range of '{0}' cannot follow the scale of an equalized input; use a per-tensor observer of PyTorch's, such as HistogramObserver",
                 target.getClassName())
        .code("equalization_observer");
  auto [min, max] = getScaledRange({layer.mins, layer.maxs}, layer.scale);
  target.setBuffer("min_val", Tensor::of<float>(DType::Float32, {}, min));
  target.setBuffer("max_val", Tensor::of<float>(DType::Float32, {}, max));
  return llvm::Error::success();
}

} // namespace qfx
