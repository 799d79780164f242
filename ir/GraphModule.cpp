// Deep copies and clean-up of whole models.
#include "ir/GraphModule.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace qfx {

GraphModule GraphModule::clone() const {
  auto copy = std::make_unique<Graph>();
  llvm::DenseMap<const Node *, Node *> copies;
  for (const Node &node : graph->nodes())
    copies[&node] = copy->copyNode(node, [&](Node *input) -> Argument { return copies.lookup(input); });
  GraphModule result(root->deepCopy(), std::move(copy));
  result.meta = meta;
  return result;
}

const Argument *GraphModule::findMeta(llvm::StringRef key) const {
  for (const auto &[name, value] : meta)
    if (name == key)
      return &value;
  return nullptr;
}

void GraphModule::setMeta(llvm::StringRef key, Argument value) {
  for (auto &entry : meta)
    if (entry.first == key) {
      entry.second = std::move(value);
      return;
    }
  meta.emplace_back(key.str(), std::move(value));
}

void GraphModule::removeMeta(llvm::StringRef key) {
  llvm::erase_if(meta, [&](const auto &entry) { return entry.first == key; });
}

/// Copies the member at `path` of `from` (module or tensor) to the same path of `to`, making missing levels.
static void copyMember(const Module &from, Module &to, llvm::StringRef path) {
  if (ModuleRef module = from.findModule(path)) {
    to.setModule(path, module);
    return;
  }
  const Tensor *tensor = from.findTensorAt(path);
  if (!tensor)
    return;
  auto [parentPath, name] = splitPath(path);
  Module *parent = &to;
  const Module *source = &from;
  if (!parentPath.empty()) {
    source = from.findModule(parentPath).get();
    ModuleRef existing = to.findModule(parentPath);
    if (!existing) {
      existing = std::make_shared<Module>();
      existing->setTraining(from.isTraining());
      to.setModule(parentPath, existing);
    }
    parent = existing.get();
  }
  bool isParameter = llvm::any_of(source->getParameters(), [&, &member = name](const auto &entry) { return entry.first == member; });
  if (isParameter)
    parent->setParameter(name, *tensor);
  else
    parent->setBuffer(name, *tensor);
}

void GraphModule::dropUnreferencedMembers() {
  auto fresh = std::make_shared<Module>(root->getClassName());
  fresh->setTraining(root->isTraining());
  fresh->setLoc(root->getLoc());
  for (const Node &node : graph->nodes())
    if (node.is(Opcode::CallModule) || node.is(Opcode::GetAttr))
      copyMember(*root, *fresh, node.getTargetText());
  root = std::move(fresh);
}

} // namespace qfx
