// Replaces linear layers by their weight-only form.
#include "passes/weightonly/WeightOnlyLinear.h"

#include "ir/Bind.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "passes/GraphUtils.h"
#include "passes/PassRegistry.h"

#include "llvm/ADT/DenseMap.h"

namespace qfx {

/// A tensor in a slot that is known without running: the called module's or a get_attr's; null otherwise.
static Tensor getConstant(const GraphModule &model, const BoundSlot &slot) {
  if (slot.tensor)
    return slot.tensor;
  const Node *node = slot.arg.getNodeOrNull();
  const Tensor *tensor =
      node && node->is(Opcode::GetAttr) ? model.getRoot().findTensorAt(node->getTargetText()) : nullptr;
  return tensor ? *tensor : Tensor();
}

static llvm::Expected<ModuleRef> makeWeightOnly(const Tensor &weight, const Tensor &bias,
                                                const WeightOnlyOptions &options, const Location &loc) {
  static const TargetInfo &target = requireModuleClass("qfx.nn.WeightOnlyLinear");
  llvm::Expected<WeightOnlyCodes> codes = quantizeWeightOnly(weight, options, loc);
  if (!codes)
    return codes.takeError();
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
  module->setParameter("weight", codes->codes);
  if (bias)
    module->setParameter("bias", bias);
  module->setBuffer("weight_scale", codes->scale);
  if (codes->zeroPoint)
    module->setBuffer("weight_zero_point", codes->zeroPoint);
  return module;
}

llvm::Expected<bool> quantizeLinearWeights(GraphModule &model, const WeightOnlyOptions &options, PassContext &context) {
  if (options.bits != 8 && options.bits != 4)
    return error({}, "weight-only weights have 8 or 4 bits, got {0}", options.bits).code("weight_only_bits");
  if (options.groupSize < 0)
    return error({}, "the group size must be >= 0, got {0}", options.groupSize).code("weight_only_group");
  std::string requested = llvm::formatv("int{0} weights", options.bits).str();
  llvm::DenseMap<const Module *, ModuleRef> replaced;
  std::vector<ModuleRef> kept; // module objects that are keys stay alive
  bool changed = false;
  for (Node &node : model.getGraph().mutableNodes()) {
    if (!node.is(Opcode::CallModule) && !node.is(Opcode::CallFunction))
      continue;
    const TargetInfo *target = node.getTarget();
    ModuleRef module;
    if (node.is(Opcode::CallModule)) {
      module = model.getModule(node);
      target = module ? module->getClass() : nullptr;
    }
    if (!target || target->op != OpKind::Linear)
      continue;
    if (module && replaced.count(module.get())) { // a second path of the same object
      model.getRoot().setModule(node.getTargetText(), replaced[module.get()]);
      continue;
    }
    llvm::Expected<BoundCall> call = bindCall(node, model);
    if (!call)
      return call.takeError();
    Tensor weight = getConstant(model, call->get("weight")), bias = getConstant(model, call->get("bias"));
    bool hasBias = call->get("bias").tensor || !call->get("bias").arg.isNone();
    if (!weight || weight.getDType() != DType::Float32 || weight.getRank() != 2 || (hasBias && !bias)) {
      Diagnostic why =
          error(node.getLoc(), "'{0}' stays float: its weight or bias is no constant float32 tensor", node.getName())
              .code("weight_only_constant")
              .take();
      if (llvm::Error err = context.missed("weight-only-linear", node, requested, std::move(why)))
        return err;
      continue;
    }
    llvm::Expected<ModuleRef> made = makeWeightOnly(weight, bias, options, node.getLoc());
    if (!made)
      return made.takeError();
    context.applied("weight-only-linear", node,
                    llvm::formatv("'{0}' has {1}, groups of {2}", node.getName(), requested,
                                  options.groupSize ? options.groupSize : weight.getSizes()[1]));
    changed = true;
    if (module) {
      replaced[module.get()] = *made;
      kept.push_back(module);
      model.getRoot().setModule(node.getTargetText(), *made);
      continue;
    }
    std::string path = getNewAttrName(model.getRoot(), "_weight_only_");
    model.getRoot().setModule(path, *made);
    Graph::InsertPoint guard = Graph::InsertPoint::before(&node);
    Node *replacement = model.getGraph().callModule(path, {call->get("input").arg});
    replacement->setLoc(node.getLoc());
    replacement->setScope(node.getScope());
    node.replaceAllUsesWith(replacement);
    Node *constants[] = {call->get("weight").arg.getNodeOrNull(), call->get("bias").arg.getNodeOrNull()};
    model.getGraph().erase(&node);
    for (Node *constant : constants)
      if (constant && constant->getNumUsers() == 0)
        model.getGraph().erase(constant);
  }
  if (changed)
    model.dropUnreferencedMembers();
  return changed;
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
