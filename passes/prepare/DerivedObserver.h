// The observer of `x + c`, `x - c` and `x * c`: no statistics, its parameters follow from those of x (workflow 4.7,
// QFX).
#ifndef PASSES_PREPARE_DERIVEDOBSERVER_H
#define PASSES_PREPARE_DERIVEDOBSERVER_H

#include "ir/Module.h"

#include <optional>
#include <utility>

namespace qfx {

class GraphModule;
class Node;

/// Class of derived observers.  Attributes: `source`, path of x's observer; `op`, "add", "sub" or "mul"; `constant`, c;
/// `dtype`.
inline constexpr llvm::StringLiteral kDerivedObserverClass("qfx.DerivedObserver");

/// Meta key (value True) of an op with one tensor operand whose output has an observer of its own: its result must not
/// be lowered to the scalar form, which keeps the input's parameters.
inline constexpr llvm::StringLiteral kOwnQParamsMeta("own_qparams");

/// The scalar operation that `root` is, if a constant stands on a side where the rules of operators.md 6 apply: x + c,
/// c + x, x - c, x * c, c * x with alpha 1 and c a finite number.  None for anything else (c - x, a scalar known only
/// at run time).
struct ScalarOperation {
  llvm::StringLiteral op;
  double constant;
};
std::optional<ScalarOperation> findScalarOperation(const Node &root, const GraphModule &model);

/// Scale (of float32) and zero point of `x <op> constant` when x has these and codes of `dtype` (operators 6, add_scalar and mul_scalar).
/// \param op  "add", "sub" or "mul"
std::pair<float, int64_t> deriveQParams(llvm::StringRef op, double scale, int64_t zeroPoint, DType dtype, double constant);

ModuleRef makeDerivedObserver(llvm::StringRef sourcePath, const ScalarOperation &operation, DType dtype);
bool isDerivedObserver(const Module &module);

} // namespace qfx

#endif // PASSES_PREPARE_DERIVEDOBSERVER_H
