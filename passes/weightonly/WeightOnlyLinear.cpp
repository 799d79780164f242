// Replaces linear layers by their weight-only form.
#include "passes/weightonly/WeightOnlyLinear.h"

#include "ir/Bind.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "passes/GraphUtils.h"
#include "passes/PassRegistry.h"
#include "passes/WeightQParams.h"

#include "llvm/ADT/DenseMap.h"

namespace qfx {

static ModuleRef makeWeightOnly(const Tensor &weight, const Tensor &bias, const WeightOnlyOptions &options, const Location &loc) {
  static const TargetInfo &target = requireModuleClass("qfx.nn.WeightOnlyLinear");
  WeightOnlyCodes codes = quantizeWeightOnly(weight, options);
  auto module = std::make_shared<Module>(target);
  module->setLoc(loc);
  module->setTraining(false);
  module->setAttribute("in_features", weight.getSizes()[1]);
  module->setAttribute("out_features", weight.getSizes()[0]);
  if (!bias)
    module->setAttribute("bias", false);
  if (options.bits != 8)
    module->setAttribute("bits", options.bits);
  if (options.groupSize)
    module->setAttribute("group_size", options.groupSize);
  module->setParameter("weight", codes.codes);
  if (bias)
    module->setParameter("bias", bias);
  module->setBuffer("weight_scale", codes.scale);
  if (codes.zeroPoint)
    module->setBuffer("weight_zero_point", codes.zeroPoint);
  return module;
}

namespace {

/// Walks the calls and gives each linear layer its weight-only form.
class LayerReplacer {
public:
  LayerReplacer(GraphModule &model, const WeightOnlyOptions &options, PassContext &context)
      : model(model), options(options), context(context),
        requested(llvm::formatv("int{0} weights", options.bits).str()) {}

  llvm::Expected<bool> run() {
    detachReads(model, [](const Module &module) { return module.getClass() && module.getClass()->op == OpKind::Linear; });
    for (Node &node : model.getGraph().mutableNodes())
      if (llvm::Error err = visit(node))
        return err;
    if (changed)
      model.dropUnreferencedMembers();
    return changed;
  }

private:
  llvm::Error visit(Node &node) {
    if (node.is(Opcode::CallFunction) && node.getTarget() && node.getTarget()->op == OpKind::Linear)
      return replaceFunction(node);
    ModuleRef module = node.is(Opcode::CallModule) ? model.getModule(node) : nullptr;
    std::string path = module ? node.getTargetText().str() : std::string();
    if (module && module->getClass() && module->getClass()->op == OpKind::Sequence) { // LinearReLU: its child "0" is the layer
      module = module->findChild("0");
      path += ".0";
    }
    if (module && module->getClass() && module->getClass()->op == OpKind::Linear)
      return replaceModule(node, path, module);
    return llvm::Error::success();
  }

  /// The new layer; null if the weight or bias is no constant, which a remark says.
  llvm::Expected<ModuleRef> make(const Node &node, const Tensor &weight, const Tensor &bias, bool hasBias) {
    if (!weight || weight.getDType() != DType::Float32 || weight.getRank() != 2 || (hasBias && !bias)) {
      Diagnostic why =
          error(node.getLoc(), "'{0}' stays float: its weight or bias is no constant float32 tensor", node.getName())
              .code("weight_only_constant")
              .take();
      if (llvm::Error err = context.missed("weight-only-linear", node, requested, std::move(why)))
        return err;
      return ModuleRef();
    }
    if (llvm::Error err = checkFinite(weight, "weight", node.getName(), node.getLoc()))
      return err;
    context.applied("weight-only-linear", node,
                    llvm::formatv("'{0}' has {1}, groups of {2}", node.getName(), requested,
                                  options.groupSize ? options.groupSize : weight.getSizes()[1]));
    changed = true;
    return makeWeightOnly(weight, bias, options, node.getLoc());
  }

  llvm::Error replaceModule(const Node &node, const std::string &path, const ModuleRef &module) {
    auto [known, isNew] = replaced.try_emplace(module.get(), nullptr);
    if (isNew) {
      const Tensor *weight = module->findTensor("weight"), *bias = module->findTensor("bias");
      llvm::Expected<ModuleRef> made = make(node, weight ? *weight : Tensor(), bias ? *bias : Tensor(), bias != nullptr);
      if (!made)
        return made.takeError();
      known->second = *made;
      kept.push_back(module);
    }
    if (known->second) // also a second path of the same object
      model.getRoot().setModule(path, known->second);
    return llvm::Error::success();
  }

  llvm::Error replaceFunction(Node &node) {
    llvm::Expected<BoundCall> call = bindCall(node, model);
    if (!call)
      return call.takeError();
    const Argument weight = call->get("weight").arg, bias = call->get("bias").arg;
    llvm::Expected<ModuleRef> made = make(node, findConstant(weight), findConstant(bias), !bias.isNone());
    if (!made || !*made)
      return made.takeError();
    std::string path = getNewAttrName(model.getRoot(), "_weight_only_");
    model.getRoot().setModule(path, *made);
    Graph::InsertPoint guard = Graph::InsertPoint::before(&node);
    Node *replacement = model.getGraph().callModule(path, {call->get("input").arg});
    replacement->setLoc(node.getLoc());
    replacement->setScope(node.getScope());
    node.replaceAllUsesWith(replacement);
    model.getGraph().erase(&node);
    for (Node *constant : {weight.getNodeOrNull(), bias.getNodeOrNull()})
      if (constant && constant->getNumUsers() == 0)
        model.getGraph().erase(constant);
    return llvm::Error::success();
  }

  /// What a get_attr reads; null for any other value.
  Tensor findConstant(const Argument &argument) const {
    const Node *node = argument.getNodeOrNull();
    const Tensor *tensor =
        node && node->is(Opcode::GetAttr) ? model.getRoot().findTensorAt(node->getTargetText()) : nullptr;
    return tensor ? *tensor : Tensor();
  }

  GraphModule &model;
  const WeightOnlyOptions &options;
  PassContext &context;
  std::string requested;
  llvm::DenseMap<const Module *, ModuleRef> replaced; ///< null: stays float
  std::vector<ModuleRef> kept;                        ///< module objects that are keys stay alive
  bool changed = false;
};

} // namespace

llvm::Expected<bool> quantizeLinearWeights(GraphModule &model, const WeightOnlyOptions &options, PassContext &context) {
  if (options.bits != 8 && options.bits != 4)
    return error({}, "weight-only weights have 8 or 4 bits, got {0}", options.bits).code("weight_only_bits");
  if (options.groupSize < 0)
    return error({}, "the group size must be >= 0, got {0}", options.groupSize).code("weight_only_group");
  return LayerReplacer(model, options, context).run();
}

namespace {
struct WeightOnlyLinearPass final : Pass {
  WeightOnlyOptions options;
  llvm::Expected<bool> run(GraphModule &model, PassContext &context) override {
    return quantizeLinearWeights(model, options, context);
  }
};
} // namespace

std::unique_ptr<Pass> createWeightOnlyLinear(const PassOptions &options) {
  auto pass = std::make_unique<WeightOnlyLinearPass>();
  pass->options.bits = options.getInt("bits");
  pass->options.groupSize = options.getInt("group-size");
  pass->options.symmetric = options.getBool("symmetric");
  return pass;
}

} // namespace qfx
