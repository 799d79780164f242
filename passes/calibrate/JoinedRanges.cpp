// Probes between observers and the cat or stack that reads them.
#include "passes/calibrate/JoinedRanges.h"

#include "backends/config/QConfig.h"
#include "backends/observe/Observer.h"
#include "ir/Ops.h"
#include "passes/GraphUtils.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>

namespace qfx {

static constexpr double kWideRatio = 16;

JoinedRanges::JoinedRanges(const GraphModule &model) : probed(model.getRoot().shallowCopy(), std::make_unique<Graph>()) {
  llvm::DenseMap<const Node *, Node *> copies;
  for (const Node &node : model.getGraph().nodes()) {
    Node *copy = probed.getGraph().copyNode(node, [&](Node *input) -> Argument { return copies.lookup(input); });
    copies[&node] = copy;
    if (isJoin(node))
      probe(*copy, node);
  }
  for (const auto &[name, value] : model.getMeta())
    probed.setMeta(name, value);
}

void JoinedRanges::probe(Node &join, const Node &original) {
  const Argument *list = findOperand(join, 0, "tensors");
  if (!list || !list->isSequence())
    return;
  ModuleRef shared;
  for (const Argument &element : list->getElements()) {
    Node *value = element.getNodeOrNull();
    ModuleRef observer = value && value->is(Opcode::CallModule) ? probed.getModule(*value) : nullptr;
    if (!observer || !isObserver(*observer) || isObserverDynamic(*observer) || (shared && observer != shared))
      return; // a member of its own range
    shared = observer;
  }
  static const ObserverSpec spec{&requireModuleClass("torch.ao.quantization.observer.MinMaxObserver"), /*isPartial=*/false, {}, nullptr};
  Join found{original.getName(), original.getLoc(), {}};
  Argument::Elements elements;
  for (const Argument &element : list->getElements()) {
    Node *value = element.getNode();
    auto probe = spec.build();
    if (!probe) {
      llvm::consumeError(probe.takeError());
      return;
    }
    std::string name = getNewAttrName(probed.getRoot(), "range_of_" + value->getName() + "_");
    probed.getRoot().setChild(name, *probe);
    Graph::InsertPoint guard = Graph::InsertPoint::before(&join);
    Node *call = probed.getGraph().callModule(name, {Argument(value)});
    call->setLoc(join.getLoc());
    elements.push_back(Argument(call));
    found.probes.emplace_back(value->getArg(0).getNode()->getName(), *probe);
  }
  Argument probes = list->getKind() == Argument::Kind::List ? Argument::list(std::move(elements)) : Argument::tuple(std::move(elements));
  if (join.getArgs().empty()) {
    Kwargs kwargs = join.getKwargs();
    for (auto &[key, value] : kwargs)
      if (key == "tensors")
        value = probes;
    join.setArgsAndKwargs({}, std::move(kwargs));
  } else {
    join.setArg(0, std::move(probes));
  }
  joins.push_back(std::move(found));
}

/// The width of what a probe saw, zero included; 0 if it saw nothing.
static double getWidth(const Module &probe) {
  const Tensor *low = probe.findTensor("min_val"), *high = probe.findTensor("max_val");
  if (!low || !high || low->getNumElements() != 1 || high->getNumElements() != 1)
    return 0;
  return std::max(high->getElementAsDouble(0), 0.0) - std::min(low->getElementAsDouble(0), 0.0);
}

void JoinedRanges::warn(PassContext &context) const {
  for (const Join &join : joins) {
    const std::string *narrow = nullptr, *wide = nullptr;
    double least = 0, most = 0;
    for (const auto &[name, probe] : join.probes) {
      double width = getWidth(*probe);
      if (!(width > 0))
        continue;
      if (!narrow || width < least)
        least = width, narrow = &name;
      if (!wide || width > most)
        most = width, wide = &name;
    }
    if (!narrow || most < kWideRatio * least)
      continue;
    context.warn(error(join.loc, "'{0}' joins '{1}' (range {2}) and '{3}' (range {4}) under one scale: what is small loses its codes", join.name,
                       *wide, most, *narrow, least)
                     .note({}, "outputs can keep ranges of their own: prepare with --split-outputs")
                     .code("calibrate_ranges")
                     .take());
  }
}

} // namespace qfx
