// The rule of torch/ao/quantization/fx/utils.py, all_node_args_have_no_tensors.
#include "passes/prepare/TensorArguments.h"

#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "passes/config/ModuleFacts.h"
#include "passes/config/Operands.h"

namespace qfx {

bool TensorArguments::carriesNoTensor(const Node &node) {
  auto it = known.find(&node);
  if (it != known.end())
    return it->second;
  bool result = compute(node);
  known[&node] = result;
  return result;
}

bool TensorArguments::compute(const Node &node) {
  auto firstCarriesNone = [&] {
    if (node.getArgs().empty())
      return false;
    Node *first = node.getArg(0).getNodeOrNull();
    return !first || carriesNoTensor(*first);
  };
  switch (node.getOpcode()) {
  case Opcode::Placeholder:
  case Opcode::GetAttr:
    return false;
  case Opcode::CallModule: {
    ModuleRef module = model.getModule(node);
    return module && isObserverModule(*module) && firstCarriesNone();
  }
  case Opcode::CallFunction: {
    OpKind op = node.getTarget()->op;
    if (op == OpKind::GetItem)
      return firstCarriesNone();
    if (op == OpKind::GetAttribute && node.getArgs().size() > 1 && node.getArg(1).isString() &&
        (node.getArg(1).getString() == "ndim" || node.getArg(1).getString() == "shape"))
      return true;
    break;
  }
  case Opcode::CallMethod:
    if (node.getTargetText() == "size")
      return true;
    break;
  case Opcode::Output:
    break;
  }
  if (node.getArgs().empty())
    return false;
  for (const Argument &arg : node.getArgs()) {
    if (arg.getKind() == Argument::Kind::List) {
      for (const Argument &element : arg.getElements())
        if (Node *input = element.getNodeOrNull(); input && !carriesNoTensor(*input))
          return false;
    } else if (Node *input = arg.getNodeOrNull()) {
      if (!carriesNoTensor(*input))
        return false;
    } else if (!arg.isInt() && !arg.isBool()) {
      return false;
    }
  }
  return true;
}

unsigned TensorArguments::countTensorOperands(const Node &root) {
  unsigned count = 0;
  for (const Argument &operand : getOperands(root, model))
    if (Node *node = operand.getNodeOrNull(); node && !carriesNoTensor(*node))
      ++count;
  return count;
}

} // namespace qfx
