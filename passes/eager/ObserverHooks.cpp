// Inserting and removing the observer calls of eager mode.
#include "passes/eager/ObserverHooks.h"

#include "backends/observe/Observer.h"
#include "ir/Diagnostics.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

ObserverHooks::ObserverHooks(GraphModule &model) : model(model) {
  for (Node &node : model.getGraph().nodes())
    if (node.is(Opcode::CallModule))
      if (ModuleRef module = model.getModule(node))
        calls[module.get()].push_back(&node);
}

ModuleRef ObserverHooks::getObserver(const Module &module) {
  ModuleRef child = isObserver(module) ? nullptr : module.findChild(kActivationPostProcess);
  return child && isObserver(*child) ? child : nullptr;
}

bool ObserverHooks::isHooked(const GraphModule &model) {
  bool found = false;
  model.getRoot().forEachModule([&](const std::string &, const ModuleRef &module) { found |= getObserver(*module) != nullptr; });
  return found;
}

llvm::ArrayRef<Node *> ObserverHooks::getCalls(const Module &module) const {
  auto found = calls.find(&module);
  return found == calls.end() ? llvm::ArrayRef<Node *>() : llvm::ArrayRef<Node *>(found->second);
}

static bool isInScope(const Node &node, llvm::StringRef path) {
  if (!node.getScope())
    return false;
  llvm::StringRef scope = node.getScope()->path;
  return scope == path || (startsWith(scope, path) && scope.drop_front(path.size()).front() == '.');
}

llvm::Expected<Node *> ObserverHooks::findInlinedResult(const std::string &path, const Location &loc) {
  std::vector<Node *> results;
  for (Node &node : model.getGraph().nodes())
    if (isInScope(node, path) && llvm::any_of(node.getUsers(), [&](Node *user) { return !isInScope(*user, path); }))
      results.push_back(&node);
  if (results.size() == 1)
    return results.front();
  return error(loc, "an observer on module '{0}' needs one result to watch, the graph shows {1}", path, results.size())
      .code("eager_hook");
}

bool ObserverHooks::isInsideCalled(llvm::StringRef path) const {
  for (llvm::StringRef parent = splitPath(path).first; !parent.empty(); parent = splitPath(parent).first)
    if (ModuleRef module = model.getRoot().findModule(parent); module && !getCalls(*module).empty())
      return true;
  return false;
}

void ObserverHooks::insertCall(const std::string &path, Node *observed, Node *preHookOf) {
  auto insertPoint = preHookOf ? Graph::InsertPoint::before(preHookOf) : Graph::InsertPoint::after(observed);
  Node *call = model.getGraph().callModule(joinPath(path, kActivationPostProcess), {observed});
  call->setLoc(observed->getLoc());
  if (preHookOf)
    preHookOf->replaceInputWith(observed, call);
  else
    observed->replaceAllUsesWith(call, [&](Node *user) { return user != call; });
  if (ModuleRef observer = model.getModule(*call))
    calls[observer.get()].push_back(call);
}

llvm::Error ObserverHooks::attach(const ModuleRef &module, const std::string &path, ModuleRef observer, bool preHook) {
  module->setChild(kActivationPostProcess, std::move(observer));
  std::vector<Node *> callers = getCalls(*module).vec();
  if (callers.empty() && isInsideCalled(path)) {
    if (preHook)
      return error(module->getLoc(), "an observer before '{0}' has no call in the graph: it stands inside a called module", path).code("eager_hook");
    return llvm::Error::success(); // whoever runs that module calls the observers of its children
  }
  if (callers.empty()) {
    auto result = findInlinedResult(path, module->getLoc());
    if (!result)
      return result.takeError();
    insertCall(path, *result, nullptr);
    return llvm::Error::success();
  }
  for (Node *call : callers) {
    Node *input = !call->getArgs().empty() ? call->getArg(0).getNodeOrNull() : nullptr;
    if (preHook && !input)
      return error(call->getLoc(), "an observer before '{0}' needs its first operand by position", call->getName()).code("eager_hook");
    insertCall(call->getTargetText().str(), preHook ? input : call, preHook ? call : nullptr);
  }
  return llvm::Error::success();
}

void ObserverHooks::replaceModule(const Module &old, const ModuleRef &now) {
  auto found = calls.find(&old);
  if (found == calls.end())
    return;
  std::vector<Node *> moved = std::move(found->second);
  calls.erase(found);
  calls[now.get()] = std::move(moved);
}

void ObserverHooks::remove(Module &module) {
  ModuleRef observer = getObserver(module);
  if (!observer)
    return;
  for (Node *call : getCalls(*observer)) {
    call->replaceAllUsesWith(call->getArg(0).getNode());
    model.getGraph().erase(call);
  }
  calls.erase(observer.get());
  module.removeChild(kActivationPostProcess);
}

} // namespace qfx
