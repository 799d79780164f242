// Nodes, edges and the node list.
#include "ir/Graph.h"

#include "ir/Ops.h"
#include "ir/Text.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <algorithm>

namespace qfx {

static constexpr llvm::StringLiteral kOpcodeNames[] = {"placeholder", "get_attr",    "call_function",
                                                       "call_method", "call_module", "output"};

llvm::StringRef getOpcodeName(Opcode opcode) { return kOpcodeNames[static_cast<unsigned>(opcode)]; }

llvm::StringRef Node::getTargetText() const {
  if (opcode == Opcode::Output)
    return "output";
  return target ? target->text : llvm::StringRef(targetText);
}

void Node::setTargetPath(llvm::StringRef path) {
  assert((is(Opcode::CallModule) || is(Opcode::GetAttr)) && "only these have a path");
  targetText = path.str();
}

void Node::setTarget(const TargetInfo &info) {
  assert((is(Opcode::CallFunction) || is(Opcode::CallMethod)) && "only these have a table target");
  target = &info;
}

const Argument *Node::getKwarg(llvm::StringRef key) const {
  for (const auto &[name, value] : kwargs)
    if (name == key)
      return &value;
  return nullptr;
}

void Node::addUser(Node *user) {
  if (!llvm::is_contained(users, user))
    users.push_back(user);
}

void Node::removeUser(Node *user) {
  auto it = llvm::find(users, user);
  if (it != users.end())
    users.erase(it);
}

void Node::updateInputs() {
  for (Node *input : inputs)
    input->removeUser(this);
  inputs.clear();
  llvm::SmallPtrSet<Node *, 8> seen;
  auto collect = [&](Node *input) {
    assert(input->parent == parent && "argument of another graph");
    if (seen.insert(input).second)
      inputs.push_back(input);
  };
  for (const Argument &arg : args)
    arg.forEachNode(collect);
  for (const auto &kwarg : kwargs)
    kwarg.second.forEachNode(collect);
  for (Node *input : inputs)
    input->addUser(this);
}

void Node::setArgsAndKwargs(std::vector<Argument> newArgs, Kwargs newKwargs) {
  args = std::move(newArgs);
  kwargs = std::move(newKwargs);
  updateInputs();
}

void Node::setArgs(std::vector<Argument> newArgs) {
  args = std::move(newArgs);
  updateInputs();
}

void Node::setKwargs(Kwargs newKwargs) {
  kwargs = std::move(newKwargs);
  updateInputs();
}

void Node::setArg(size_t i, Argument value) {
  args[i] = std::move(value);
  updateInputs();
}

void Node::replaceInputWith(Node *oldInput, Node *newInput) {
  auto map = [&](Node *input) -> Argument { return input == oldInput ? newInput : input; };
  for (Argument &arg : args)
    arg = arg.mapNodes(map);
  for (auto &kwarg : kwargs)
    kwarg.second = kwarg.second.mapNodes(map);
  updateInputs();
}

void Node::replaceAllUsesWith(Node *other, llvm::function_ref<bool(Node *)> replaceIf) {
  llvm::SmallVector<Node *, 8> snapshot(users.begin(), users.end());
  for (Node *user : snapshot)
    if (!replaceIf || replaceIf(user))
      user->replaceInputWith(this, other);
}

Node *Node::getPrevNode() const {
  auto it = const_cast<Node *>(this)->getIterator();
  return it == parent->list.begin() ? nullptr : &*std::prev(it);
}

Node *Node::getNextNode() const {
  auto it = std::next(const_cast<Node *>(this)->getIterator());
  return it == parent->list.end() ? nullptr : &*it;
}

const Argument *Node::findMeta(llvm::StringRef key) const {
  for (const auto &[name, value] : meta)
    if (name == key)
      return &value;
  return nullptr;
}

void Node::setMeta(llvm::StringRef key, Argument value) {
  for (auto &entry : meta)
    if (entry.first == key) {
      entry.second = std::move(value);
      return;
    }
  meta.emplace_back(key.str(), std::move(value));
}

Graph::Graph() = default;

Graph::~Graph() {
  // Drop all edges first: nodes may die in any order.
  for (Node &node : list) {
    node.inputs.clear();
    node.users.clear();
    node.args.clear();
    node.kwargs.clear();
  }
}

Node *Graph::insertNew(Opcode opcode, llvm::StringRef candidate) {
  Node *node = new Node(this, opcode);
  node->name = names.createName(candidate);
  list.insert(insertBefore ? insertBefore->getIterator() : list.end(), node);
  return node;
}

/// FX's candidate: the target's last function name or the path, without dunder, in snake case.
static std::string makeCandidate(llvm::StringRef target) {
  if (target.size() > 4 && startsWith(target, "__") && endsWith(target, "__"))
    target = target.drop_front(2).drop_back(2);
  return toSnakeCase(target);
}

Node *Graph::placeholder(llvm::StringRef target, std::optional<Argument> defaultValue, llvm::StringRef name) {
  Node *node = insertNew(Opcode::Placeholder, name.empty() ? makeCandidate(target) : name.str());
  node->targetText = target.str();
  if (defaultValue)
    node->setArgs({*defaultValue});
  return node;
}

Node *Graph::getAttr(llvm::StringRef path, llvm::StringRef name) {
  Node *node = insertNew(Opcode::GetAttr, name.empty() ? makeCandidate(path) : name.str());
  node->targetText = path.str();
  return node;
}

Node *Graph::callFunction(const TargetInfo &function, std::vector<Argument> args, Kwargs kwargs, llvm::StringRef name) {
  Node *node = insertNew(Opcode::CallFunction, name.empty() ? makeCandidate(function.getBaseName()) : name.str());
  node->target = &function;
  node->setArgsAndKwargs(std::move(args), std::move(kwargs));
  return node;
}

Node *Graph::callMethod(const TargetInfo &method, std::vector<Argument> args, Kwargs kwargs, llvm::StringRef name) {
  Node *node = insertNew(Opcode::CallMethod, name.empty() ? makeCandidate(method.text) : name.str());
  node->target = &method;
  node->setArgsAndKwargs(std::move(args), std::move(kwargs));
  return node;
}

Node *Graph::callModule(llvm::StringRef path, std::vector<Argument> args, Kwargs kwargs, llvm::StringRef name) {
  Node *node = insertNew(Opcode::CallModule, name.empty() ? makeCandidate(path) : name.str());
  node->targetText = path.str();
  node->setArgsAndKwargs(std::move(args), std::move(kwargs));
  return node;
}

Node *Graph::output(Argument value) {
  Node *node = insertNew(Opcode::Output, "output");
  node->setArgs({std::move(value)});
  return node;
}

Node *Graph::copyNode(const Node &node, llvm::function_ref<Argument(Node *)> map) {
  Node *copy = insertNew(node.opcode, node.name);
  copy->targetText = node.targetText;
  copy->target = node.target;
  copy->loc = node.loc;
  copy->scope = node.scope;
  copy->type = node.type;
  copy->meta = node.meta;
  std::vector<Argument> args;
  for (const Argument &arg : node.args)
    args.push_back(arg.mapNodes(map));
  Kwargs kwargs;
  for (const auto &[key, value] : node.kwargs)
    kwargs.emplace_back(key, value.mapNodes(map));
  copy->setArgsAndKwargs(std::move(args), std::move(kwargs));
  return copy;
}

void Graph::erase(Node *node) {
  assert(node->users.empty() && "erasing a node that is still used");
  if (insertBefore == node)
    insertBefore = node->getNextNode();
  node->setArgsAndKwargs({}, {});
  list.erase(node->getIterator());
}

void Graph::moveBefore(Node *node, Node *position) {
  if (node != position)
    list.splice(position->getIterator(), list, node->getIterator());
}

void Graph::moveAfter(Node *node, Node *position) {
  if (node != position)
    list.splice(std::next(position->getIterator()), list, node->getIterator());
}

std::vector<Node *> Graph::getNodeVector() {
  std::vector<Node *> result;
  for (Node &node : list)
    result.push_back(&node);
  return result;
}

Node *Graph::getOutput() {
  if (list.empty() || !list.back().is(Opcode::Output))
    return nullptr;
  return &list.back();
}

Node *Graph::findNode(llvm::StringRef name) {
  for (Node &node : list)
    if (node.getName() == name)
      return &node;
  return nullptr;
}

std::vector<Node *> Graph::getPlaceholders() {
  std::vector<Node *> result;
  for (Node &node : list)
    if (node.is(Opcode::Placeholder))
      result.push_back(&node);
  return result;
}

/// `aten.relu_.default`: FX knows ATen overloads that write by their schema, and no other calls (`x.relu_()`, `torch.relu_`).
static bool writesByName(const TargetInfo &target) {
  return startsWith(target.text, "aten.") && endsWith(target.text.drop_front(5).split('.').first, "_");
}

static bool mustStay(const Node &node) {
  const TargetInfo *target = node.getTarget();
  return node.is(Opcode::Placeholder) || node.is(Opcode::Output) || (target && (target->getOp().has(Traits::Impure) || writesByName(*target)));
}

bool Graph::eliminateDeadCode(llvm::function_ref<bool(const Node &)> isImpure) {
  bool changed = false;
  for (auto it = list.rbegin(); it != list.rend();) {
    Node &node = *it++;
    if (!node.users.empty() || mustStay(node) || (isImpure && isImpure(node)))
      continue;
    erase(&node);
    changed = true;
  }
  return changed;
}

} // namespace qfx
