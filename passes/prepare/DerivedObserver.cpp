// Recognizes scalar arithmetic and builds derived observers.
#include "passes/prepare/DerivedObserver.h"

#include "ir/GraphModule.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "passes/config/Operands.h"

#include <cmath>

namespace qfx {

std::optional<ScalarOperation> findScalarOperation(const Node &root, const GraphModule &model) {
  if (!root.getTarget())
    return std::nullopt;
  OpKind op = root.getTarget()->op;
  if (op != OpKind::Add && op != OpKind::Sub && op != OpKind::Mul)
    return std::nullopt;
  std::vector<Argument> operands = getOperands(root, model);
  if (operands.size() == 1) // torch.add(x, other=2.0)
    if (const Argument *other = root.getKwarg("other"))
      operands.push_back(*other);
  if (operands.size() != 2)
    return std::nullopt;
  if (const Argument *alpha = root.getKwarg("alpha"); alpha && !(alpha->isNumber() && alpha->getNumber() == 1.0))
    return std::nullopt;
  bool constantIsSecond = operands[0].isNode() && operands[1].isNumber();
  bool constantIsFirst = operands[1].isNode() && operands[0].isNumber();
  if (!constantIsSecond && !(constantIsFirst && op != OpKind::Sub))
    return std::nullopt;
  double constant = operands[constantIsSecond ? 1 : 0].getNumber();
  if (!std::isfinite(constant))
    return std::nullopt;
  if (op == OpKind::Mul)
    return ScalarOperation{llvm::StringLiteral("mul"), constant};
  return ScalarOperation{op == OpKind::Add ? llvm::StringLiteral("add") : llvm::StringLiteral("sub"), constant};
}

/// operators 6, add_scalar: what x + c has when x has (scale, zeroPoint) over codes lo..hi.
static std::pair<double, int64_t> addScalar(double scale, int64_t zeroPoint, int64_t lo, int64_t hi, double c) {
  double steps = std::nearbyint(c / scale);
  double shifted = static_cast<double>(zeroPoint) - steps;
  if (shifted < static_cast<double>(lo))
    return {(static_cast<double>(hi) - shifted) / static_cast<double>(hi - lo) * scale, lo};
  if (shifted > static_cast<double>(hi))
    return {(shifted - static_cast<double>(lo)) / static_cast<double>(hi - lo) * scale, hi};
  return {scale, static_cast<int64_t>(shifted)};
}

/// operators 6, mul_scalar: x * c.
static std::pair<double, int64_t> mulScalar(double scale, int64_t zeroPoint, int64_t lo, int64_t hi, double c) {
  if (c > 0)
    return {c * scale, zeroPoint};
  if (c == 0)
    return {1.0, 0};
  return {-c * scale, hi - (zeroPoint - lo)};
}

std::pair<float, int64_t> deriveQParams(llvm::StringRef op, double scale, int64_t zeroPoint, DType dtype, double constant) {
  const DTypeInfo &info = getDTypeInfo(dtype);
  auto [newScale, newZeroPoint] = op == "mul" ? mulScalar(scale, zeroPoint, info.codeMin, info.codeMax, constant)
                                              : addScalar(scale, zeroPoint, info.codeMin, info.codeMax, op == "sub" ? -constant : constant);
  return {static_cast<float>(newScale), newZeroPoint};
}

ModuleRef makeDerivedObserver(llvm::StringRef sourcePath, const ScalarOperation &operation, DType dtype) {
  auto module = std::make_shared<Module>(requireModuleClass(kDerivedObserverClass));
  module->setAttribute("source", sourcePath);
  module->setAttribute("op", llvm::StringRef(operation.op));
  module->setAttribute("constant", operation.constant);
  module->setAttribute("dtype", dtype);
  return module;
}

bool isDerivedObserver(const Module &module) { return module.getClassName() == kDerivedObserverClass; }

} // namespace qfx
