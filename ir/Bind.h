// Sorts a call's arguments into its operator's slots, whatever the spelling.
#ifndef IR_BIND_H
#define IR_BIND_H

#include "ir/Argument.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "ir/Tensor.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace qfx {

class GraphModule;
class Module;
class Node;

/// What fills one slot of the operator: an argument (nodes inside), or a tensor that the called module owns.
struct BoundSlot {
  const SlotInfo *info = nullptr;
  Argument arg;
  Tensor tensor; ///< null unless the module provides it
  bool isGiven = false; ///< false: default
};

/// A call in its operator's terms.  `torch.conv2d(x, w)`, `F.conv2d(input=x, weight=w)` and a Conv2d module bind alike.
struct BoundCall {
  const OpInfo *op = nullptr;
  const TargetInfo *target = nullptr;
  const Module *module = nullptr; ///< of call_module
  Location loc;
  llvm::SmallVector<BoundSlot, 8> slots;

  const BoundSlot &get(llvm::StringRef name) const; ///< asserts that the operator has it
  const BoundSlot *find(llvm::StringRef name) const;
};

/// Binds a call_function, call_method or call_module node; rule `node_arity` on failure.
/// A module's attributes and tensors of the slots' names fill them; its forward arguments fill the others.
llvm::Expected<BoundCall> bindCall(const Node &node, const GraphModule &model);
/// The same for a module called with these arguments (children of fused modules).
llvm::Expected<BoundCall> bindModuleCall(const Module &module, llvm::ArrayRef<Argument> args, const Location &loc);

} // namespace qfx

#endif // IR_BIND_H
