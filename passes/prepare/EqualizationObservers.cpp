// Equalization observers between an observed input or weight and the layer that reads it (workflow 4.5, step 2).
#include "backends/observe/EqualizationObserver.h"
#include "passes/GraphUtils.h"
#include "passes/Pass.h"
#include "passes/equalize/EqualizableCalls.h"
#include "passes/prepare/ObserverInserter.h"

namespace qfx {

bool ObserverInserter::isInBranch(const Node &node) const {
  if (node.getArgs().empty() || !node.getArg(0).isNode() || node.getArg(0).getNode()->getUsers().size() < 2)
    return false;
  return llvm::any_of(node.getArg(0).getNode()->getUsers(),
                      [&](const Node *user) { return user != &node && (plan.findQConfig(*user) || getObserver(*user)); });
}

void ObserverInserter::declineEqualization(const Node &node, std::string reason) const {
  if (!plan.getContext().onRemark)
    return;
  Remark remark;
  remark.pass = "prepare";
  remark.node = node.getName();
  remark.diagnostic = error(node.getLoc(), "'{0}' is not equalized: {1}", node.getName(), reason).code("not_equalized").take();
  remark.diagnostic.severity = Severity::Remark;
  plan.getContext().onRemark(remark);
}

llvm::Expected<Node *> ObserverInserter::insertEqualizationObserver(Node &argument, const ObserverSpec &spec) {
  auto module = spec.build();
  if (!module)
    return module.takeError();
  (*module)->setLoc(argument.getLoc());
  std::string name = getNewAttrName(model.getRoot(), argument.getName() + "_equalization_process_");
  model.getRoot().setChild(name, std::move(*module));
  Graph::InsertPoint guard = Graph::InsertPoint::after(&argument);
  Node *call = model.getGraph().callModule(name, {&argument});
  call->setLoc(argument.getLoc());
  call->setType(argument.getType());
  return call;
}

llvm::Error ObserverInserter::insertEqualization(Node &node, bool isBranch) {
  auto found = equalization.find(&node);
  if (found == equalization.end() || !findEqualizableCall(node, model) || node.getArgs().empty() || !node.getArg(0).isNode())
    return llvm::Error::success();
  Node &input = *node.getArg(0).getNode();
  if (isBranch) {
    declineEqualization(node, "another quantized node reads its input");
    return llvm::Error::success();
  }
  if (!getObserver(input)) { // the codes come from elsewhere: nothing can be multiplied before they are made
    declineEqualization(node, "its input has no observer");
    return llvm::Error::success();
  }
  const NodeDTypes &dtypes = plan.getDTypes(node);
  const QConfig &qconfig = found->second.qconfig;
  std::vector<Argument> args(node.getArgs().begin(), node.getArgs().end());
  for (Argument &arg : args) {
    if (!arg.isNode() || dtypes.isBias(node, arg))
      continue;
    const bool isWeight = dtypes.isWeight(node, arg);
    auto call = insertEqualizationObserver(*arg.getNode(), isWeight ? *qconfig.weight : *qconfig.activation);
    if (!call)
      return call.takeError();
    // QFX: the columns of a Linear are the last axis, those of an unbatched convolution the first; PyTorch takes axis 1 always.
    if (!isWeight && found->second.axis != 1)
      setColumnAxis(*model.getModule(**call), found->second.axis);
    arg = Argument(*call);
  }
  node.setArgs(std::move(args));
  return llvm::Error::success();
}

} // namespace qfx
