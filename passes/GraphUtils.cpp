// Attribute names, producers and small tests on nodes.
#include "passes/GraphUtils.h"

#include "ir/OpKind.h"
#include "ir/Ops.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>

namespace qfx {

std::string AttrNamer::getNewName(const Module &root, llvm::StringRef prefix) {
  std::string base = prefix.str();
  std::replace(base.begin(), base.end(), '.', '_');
  for (unsigned &i = firstFree[base];; ++i) {
    std::string name = base + std::to_string(i);
    if (!root.hasMember(name))
      return name;
  }
}

std::string getNewAttrName(const Module &root, llvm::StringRef prefix) { return AttrNamer().getNewName(root, prefix); }

Node *createGetAttrFromTensor(GraphModule &model, llvm::StringRef prefix, Tensor value) {
  AttrNamer namer;
  return createGetAttrFromTensor(model, namer, prefix, std::move(value));
}

Node *createGetAttrFromTensor(GraphModule &model, AttrNamer &namer, llvm::StringRef prefix, Tensor value) {
  std::string name = namer.getNewName(model.getRoot(), prefix);
  model.getRoot().setBuffer(name, std::move(value));
  return model.getGraph().getAttr(name);
}

void detachReads(GraphModule &model, llvm::function_ref<bool(const Module &)> isReplaced) {
  llvm::StringMap<std::string> detached;
  for (Node &node : model.getGraph().mutableNodes()) {
    if (!node.is(Opcode::GetAttr))
      continue;
    const std::string path = node.getTargetText().str();
    llvm::StringRef ownerPath = splitPath(path).first;
    ModuleRef owner = ownerPath.empty() ? nullptr : model.getRoot().findModule(ownerPath);
    const Tensor *tensor = model.getRoot().findTensorAt(path);
    if (!owner || !tensor || !isReplaced(*owner))
      continue;
    std::string &name = detached[path];
    if (name.empty()) {
      name = getNewAttrName(model.getRoot(), path + "_");
      model.getRoot().setParameter(name, *tensor);
    }
    node.setTargetPath(name);
  }
}

bool isDequantize(const Node *node) {
  return node && node->is(Opcode::CallMethod) && node->getTarget() == &requireMethod("dequantize");
}

bool isFunctionCall(const Node *node, const TargetInfo &function) {
  return node && node->is(Opcode::CallFunction) && &node->getTarget()->getCanonical() == &function.getCanonical();
}

bool isJoin(const Node &node) {
  if (!node.getTarget())
    return false;
  OpKind op = node.getTarget()->op;
  return op == OpKind::Cat || op == OpKind::Stack;
}

const Argument *findOperand(const Node &node, size_t index, llvm::StringRef name) {
  if (index < node.getArgs().size())
    return &node.getArg(index);
  return node.getKwarg(name);
}

void dropUnreferencedMembers(GraphModule &model, llvm::ArrayRef<std::string> preserved) {
  ModuleRef before = preserved.empty() ? nullptr : model.getRoot().shallowCopy();
  model.dropUnreferencedMembers();
  for (const std::string &name : preserved) {
    Module &root = model.getRoot();
    if (const Argument *attribute = before->findAttribute(name))
      root.setAttribute(name, *attribute);
    if (ModuleRef child = before->findChild(name))
      root.setChild(name, std::move(child));
    for (const auto &[key, tensor] : before->getParameters())
      if (key == name)
        root.setParameter(key, tensor);
    for (const auto &[key, tensor] : before->getBuffers())
      if (key == name)
        root.setBuffer(key, tensor);
  }
}

/// Depth first, operands before users; false as soon as a placeholder turns up.
static bool visitProducers(Node *node, llvm::SmallPtrSetImpl<Node *> &seen, std::vector<Node *> &order) {
  if (node->is(Opcode::Placeholder))
    return false;
  if (!seen.insert(node).second)
    return true;
  for (Node *input : node->getInputs())
    if (!visitProducers(input, seen, order))
      return false;
  order.push_back(node);
  return true;
}

std::vector<Node *> collectProducers(Node *node) {
  llvm::SmallPtrSet<Node *, 16> seen;
  std::vector<Node *> order;
  if (!visitProducers(node, seen, order))
    return {};
  return order;
}

} // namespace qfx
