// Stubs and the identities of FloatFunctional leave the graph.
#include "passes/eager/DropMarkers.h"

#include "ir/GraphModule.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "passes/PassRegistry.h"
#include "passes/eager/EagerDetail.h"
#include "passes/eager/ObserverHooks.h"

namespace qfx {

static bool isMarker(const GraphModule &model, const Node &node) {
  ModuleRef module = node.is(Opcode::CallModule) ? model.getModule(node) : nullptr;
  if (!module || !module->getClass() || node.getArgs().size() != 1 || !node.getArg(0).getNodeOrNull())
    return false;
  if (module->getClass()->op == OpKind::Stub)
    return true;
  auto [parentPath, name] = splitPath(node.getTargetText());
  ModuleRef parent = name == kActivationPostProcess ? model.getRoot().findModule(parentPath) : nullptr;
  return parent && isFloatFunctional(*parent) && module->getClass()->op == OpKind::Identity;
}

bool dropEagerMarkers(GraphModule &model) {
  bool changed = false;
  for (Node &node : model.getGraph().mutableNodes()) {
    if (!isMarker(model, node))
      continue;
    node.replaceAllUsesWith(node.getArg(0).getNode());
    model.getGraph().erase(&node);
    changed = true;
  }
  return changed;
}

namespace {
struct DropEagerMarkersPass final : Pass {
  llvm::Expected<bool> run(GraphModule &model, PassContext &) override { return dropEagerMarkers(model); }
};
} // namespace

std::unique_ptr<Pass> createDropEagerMarkers(const PassOptions &) { return std::make_unique<DropEagerMarkersPass>(); }

} // namespace qfx
