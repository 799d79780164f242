// Folds keyword operands into the positional list by the signature of the target.
#include "passes/config/Operands.h"

#include "ir/GraphModule.h"
#include "ir/Ops.h"

namespace qfx {

static const Signature *findSignature(const Node &node, const GraphModule &model) {
  if (const TargetInfo *target = node.getTarget())
    return &target->getSignature();
  if (!node.is(Opcode::CallModule))
    return nullptr;
  ModuleRef module = model.getModule(node);
  return module && module->getClass() ? &module->getClass()->getForwardSignature() : nullptr;
}

static bool isOperand(const SlotInfo &slot, const Argument &value) {
  if (slot.type == SlotType::Tensor || slot.type == SlotType::TensorList ||
      (slot.type == SlotType::Any && !slot.isOptional))
    return true;
  bool holdsNode = false;
  value.forEachNode([&](Node *) { holdsNode = true; });
  return holdsNode;
}

std::vector<Argument> getOperands(const Node &node, const GraphModule &model) {
  std::vector<Argument> operands(node.getArgs().begin(), node.getArgs().end());
  if (node.getKwargs().empty())
    return operands;
  const Signature *signature = findSignature(node, model);
  if (!signature)
    return operands;
  llvm::ArrayRef<SlotInfo> slots = signature->getSlots();
  while (operands.size() < slots.size()) {
    const SlotInfo &slot = slots[operands.size()];
    const Argument *value = node.getKwarg(slot.name);
    if (!value || !isOperand(slot, *value))
      break;
    operands.push_back(*value);
  }
  return operands;
}

} // namespace qfx
