// QFX rule of workflow 5.3: an addition of values of very different range (an attention mask of -1e9) stays float.
#include "passes/convert/ConvertDetail.h"

#include "ir/Ops.h"
#include "ir/Text.h"
#include "passes/GraphUtils.h"

#include <cmath>

namespace qfx {

static constexpr double kMaxRangeRatio = 1024;

static bool isAddition(const Node &node) {
  static const TargetInfo &operatorAdd = requireFunction("operator.add");
  static const TargetInfo &torchAdd = requireFunction("torch.add");
  return isFunctionCall(&node, operatorAdd) || isFunctionCall(&node, torchAdd);
}

/// Length of the real interval that the codes cover; infinite scales count as infinite ranges.
static llvm::Expected<double> getRange(const ConvertState &state, const Node &observerCall) {
  auto qparams = getQParams(state, observerCall);
  if (!qparams)
    return qparams.takeError();
  if (qparams->scales.size() != 1)
    return 0.0;
  const DTypeInfo &info = getDTypeInfo(qparams->dtype);
  double codes = static_cast<double>(qparams->quantMax.value_or(info.codeMax) - qparams->quantMin.value_or(info.codeMin));
  return codes * qparams->scales[0];
}

/// The observer call that watches `operand` with static parameters, or null.
static Node *getStaticObserver(const ConvertState &state, const Argument &operand) {
  Node *node = operand.getNodeOrNull();
  ModuleRef observer = node ? getObserver(state.model, *node) : nullptr;
  return observer && !isObserverDynamic(*observer) && isQuantized(getObserverDType(*observer)) ? node : nullptr;
}

static void bypass(Node &observerCall) {
  observerCall.replaceAllUsesWith(observerCall.getArg(0).getNode());
  observerCall.getParent()->erase(&observerCall);
}

/// The observer behind an addition, behind a relu that only the addition feeds, or null.
static Node *getOutputObserver(const ConvertState &state, Node &add) {
  Node *last = &add;
  for (int depth = 0; depth < 2 && last->hasOneUser(); ++depth) {
    Node *user = last->getUsers().front();
    if (getStaticObserver(state, Argument(user)))
      return user;
    last = user;
  }
  return nullptr;
}

llvm::Error dropMismatchedAdditions(ConvertState &state) {
  std::vector<Node *> additions; // gathered first: the observers around them are erased on the way
  for (Node &node : state.model.getGraph().nodes())
    if (isAddition(node) && node.getArgs().size() >= 2)
      additions.push_back(&node);
  for (Node *add : additions) {
    Node *left = getStaticObserver(state, add->getArg(0));
    Node *right = getStaticObserver(state, add->getArg(1));
    if (!left || !right || left == right)
      continue;
    auto leftRange = getRange(state, *left), rightRange = getRange(state, *right);
    if (!leftRange || !rightRange)
      return llvm::joinErrors(leftRange.takeError(), rightRange.takeError());
    double small = std::min(*leftRange, *rightRange), large = std::max(*leftRange, *rightRange);
    if (!(small > 0) || large <= kMaxRangeRatio * small)
      continue;
    Diagnostic why = error(add->getLoc(), "'{0}' stays float: its operands '{1}' and '{2}' cover ranges of {3} and {4}, more than {5} times apart",
                           add->getName(), left->getArg(0).getNode()->getName(), right->getArg(0).getNode()->getName(),
                           formatFloat(*leftRange), formatFloat(*rightRange), static_cast<int>(kMaxRangeRatio))
                         .code("convert_range")
                         .take();
    if (llvm::Error err = state.context.missed("convert-to-reference", *add, "quint8", std::move(why)))
      return err;
    if (Node *output = getOutputObserver(state, *add))
      bypass(*output);
    for (Node *observer : {left, right}) {
      add->replaceInputWith(observer, observer->getArg(0).getNode());
      if (observer->getUsers().empty())
        state.model.getGraph().erase(observer);
    }
  }
  return llvm::Error::success();
}

} // namespace qfx
