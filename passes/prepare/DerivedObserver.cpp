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
