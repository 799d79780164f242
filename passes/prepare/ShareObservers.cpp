// Observers that several calls share, and those derived from another (workflow 4.7).
#include "passes/prepare/DerivedObserver.h"
#include "passes/prepare/ObserverInserter.h"

namespace qfx {

Node *ObserverInserter::findObserverAbove(const Argument &argument) const {
  Node *node = argument.getNodeOrNull();
  while (node && !getObserver(*node)) {
    if (node->is(Opcode::Placeholder) || node->getArgs().empty())
      return nullptr;
    Node *next = nullptr;
    for (const Argument &arg : node->getArgs())
      if ((next = arg.getNodeOrNull()))
        break;
    node = next;
  }
  return node;
}

Node *ObserverInserter::findObserverAlongFirst(const Argument &argument) const {
  Node *node = argument.getNodeOrNull();
  while (node && !getObserver(*node))
    node = node->getArgs().empty() ? nullptr : node->getArg(0).getNodeOrNull();
  return node;
}

llvm::Expected<bool> ObserverInserter::shareObservers(Node &node, const QuantMatch &match, const ObserverSpec &spec,
                                                      bool isScalar) {
  auto it = llvm::find_if(node.getArgs(), [](const Argument &arg) { return arg.isNode() || arg.isSequence(); });
  if (it == node.getArgs().end())
    return false;
  llvm::ArrayRef<Argument> elements = it->isSequence() ? it->getElements() : llvm::ArrayRef<Argument>(*it);
  if (elements.empty())
    return false;
  Node *source = findObserverAbove(elements.front());
  if (!source)
    return false;
  if (elements.size() > 1)
    for (const Argument &element : elements)
      if (Node *call = findObserverAlongFirst(element))
        if (llvm::Error err = materialize(*call))
          return err;
  ModuleRef shared = getObserver(*source);
  for (const Argument &element : elements.drop_front()) {
    Node *call = findObserverAlongFirst(element);
    if (!call)
      return false;
    bindObserver(*call, shared);
  }
  if (isScalar) {
    deriveObserver(node, *match.match.root, *source, spec);
    return true;
  }
  for (const Node *user : node.getUsers())
    bindObserver(*user, shared);
  return true;
}

void ObserverInserter::deriveObserver(Node &anchor, Node &root, const Node &source, const ObserverSpec &spec) {
  std::optional<ScalarOperation> operation = findScalarOperation(root, model);
  bool isDirect = llvm::is_contained(root.getInputs(), &source);
  if (!operation || !isDirect) {
    root.setMeta(kOwnQParamsMeta, true);
    return;
  }
  ModuleRef derived = makeDerivedObserver(source.getTargetText(), *operation, spec.getDType());
  derived->setLoc(root.getLoc());
  derivedObservers[derived.get()] = {&root, &spec};
  for (const Node *user : anchor.getUsers())
    bindObserver(*user, derived);
}

llvm::Error ObserverInserter::materialize(const Node &call) {
  ModuleRef old = getObserver(call);
  auto it = derivedObservers.find(old.get());
  if (it == derivedObservers.end())
    return llvm::Error::success();
  auto own = it->second.spec->build();
  if (!own)
    return own.takeError();
  (*own)->setLoc(old->getLoc());
  it->second.root->setMeta(kOwnQParamsMeta, true);
  derivedObservers.erase(it);
  for (auto &entry : observersByPath)
    if (entry.second == old) {
      entry.second = *own;
      model.getRoot().setModule(entry.getKey(), *own);
    }
  return llvm::Error::success();
}

} // namespace qfx
