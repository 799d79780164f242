// The rows of EqualizableCalls.def, found by target.
#include "passes/equalize/EqualizableCalls.h"

#include "ir/Ops.h"

#include "llvm/ADT/DenseMap.h"

namespace qfx {

using CallTable = llvm::DenseMap<const TargetInfo *, EqualizableCall>;

static const CallTable &getTable() {
  static const auto *table = [] {
    auto *calls = new CallTable();
#define QFX_EQUALIZABLE_MODULE(name, member, dimensions) calls->try_emplace(&requireModuleClass(name), EqualizableCall{name, member, dimensions});
#define QFX_EQUALIZABLE_FUNCTION(name, dimensions) calls->try_emplace(&requireFunction(name).getCanonical(), EqualizableCall{name, "", dimensions});
#include "passes/equalize/EqualizableCalls.def"
    return calls;
  }();
  return *table;
}

const EqualizableCall *findEqualizableCall(const Node &node, const GraphModule &model) {
  const TargetInfo *target = nullptr;
  if (node.is(Opcode::CallFunction))
    target = &node.getTarget()->getCanonical();
  else if (ModuleRef module = node.is(Opcode::CallModule) ? model.getModule(node) : nullptr)
    target = module->getClass();
  if (!target)
    return nullptr;
  auto found = getTable().find(target);
  return found == getTable().end() ? nullptr : &found->second;
}

ModuleRef getWeightOwner(const Node &node, const GraphModule &model) {
  const EqualizableCall *call = node.is(Opcode::CallModule) ? findEqualizableCall(node, model) : nullptr;
  if (!call)
    return nullptr;
  ModuleRef module = model.getModule(node);
  return call->member.empty() ? module : module->findChild(call->member);
}

} // namespace qfx
