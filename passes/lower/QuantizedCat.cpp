// Joins codes of several parameters.
#include "passes/lower/QuantizedCat.h"

#include "ir/Ops.h"
#include "passes/GraphUtils.h"
#include "passes/ValueOrigin.h"

namespace qfx {

std::vector<Node *> getJoinedCodes(const Node &quantize) {
  static const TargetInfo &cat = requireFunction("torch.cat");
  const Node *join = quantize.getArg(0).getNodeOrNull();
  if (!isFunctionCall(join, cat) || !join->hasOneUser())
    return {};
  const Argument *tensors = findOperand(*join, 0, "tensors");
  if (!tensors || !tensors->isSequence())
    return {};
  std::vector<Node *> codes;
  for (const Argument &element : tensors->getElements()) {
    Node *floats = element.getNodeOrNull();
    if (!isDequantize(floats))
      return {};
    codes.push_back(floats->getArg(0).getNode());
  }
  return codes;
}

void lowerToQuantizedCat(Node &quantize) {
  static const TargetInfo &quantizedCat = requireFunction("torch.ops.quantized.cat");
  Graph &graph = *quantize.getParent();
  Node &join = *quantize.getArg(0).getNode();
  Argument::Elements codes;
  for (Node *node : getJoinedCodes(quantize))
    codes.push_back(node);
  const Argument *dim = findOperand(join, 1, "dim");
  auto insertPoint = Graph::InsertPoint::before(&quantize);
  Node *joined = graph.callFunction(quantizedCat, {Argument::list(std::move(codes)), dim ? *dim : Argument(0), quantize.getArg(1), quantize.getArg(2)});
  joined->setLoc(join.getLoc());
  joined->setScope(join.getScope());
  setValueOrigin(*joined, join);
  quantize.replaceAllUsesWith(joined);
  graph.erase(&quantize);
  graph.erase(&join);
}

} // namespace qfx
