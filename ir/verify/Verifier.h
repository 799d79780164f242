// The rules that hold for every model between passes.
#ifndef IR_VERIFY_VERIFIER_H
#define IR_VERIFY_VERIFIER_H

#include "ir/Argument.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"

#include "llvm/Support/Error.h"

namespace qfx {

class GraphModule;

struct VerifyOptions {
  bool inferTypes = false; ///< also infer all types and compare them with the declared ones (`type_mismatch`, operator rules)
};

/// Checks the rules of docs/IR.md: node_name, node_order, node_target, node_arity, node_output, module_class, module_attr,
/// tensor_missing, tensor_quant, and that operands and users agree.  All findings come in one Error.
llvm::Error verify(const GraphModule &model, const VerifyOptions &options = {});

/// Rule `module_attr`: does `value` fit attribute `slot` of class `className`?
llvm::Error checkAttribute(llvm::StringRef className, const SlotInfo &slot, const Argument &value, const Location &loc);

} // namespace qfx

#endif // IR_VERIFY_VERIFIER_H
