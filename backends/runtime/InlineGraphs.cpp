// Copies inner graphs into the outer one until no call of a graph is left.
#include "backends/runtime/InlineGraphs.h"

#include "ir/ModuleGraph.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"

#include "llvm/ADT/DenseMap.h"

namespace qfx::runtime {

/// The argument of `call` for the placeholder at `index`, or its default.
static Argument getInput(const Node &call, size_t index, const Node &placeholder) {
  if (index < call.getArgs().size())
    return call.getArg(index);
  if (const Argument *value = call.getKwarg(placeholder.getTargetText()))
    return *value;
  return placeholder.getArgs().empty() ? Argument() : placeholder.getArg(0);
}

/// Copies the graph's nodes before `call`; \returns what it returns.
static Argument copyInner(const Graph &inner, Node &call) {
  std::string prefix = call.getTargetText().str();
  Graph &graph = *call.getParent();
  Graph::InsertPoint guard = Graph::InsertPoint::before(&call);
  llvm::DenseMap<const Node *, Argument> values;
  auto map = [&](Node *node) { return values.lookup(node); };
  size_t index = 0;
  for (const Node &node : inner.nodes()) {
    if (node.is(Opcode::Placeholder)) {
      values[&node] = getInput(call, index++, node);
      continue;
    }
    if (node.is(Opcode::Output))
      return node.getArg(0).mapNodes(map);
    Node *copy = graph.copyNode(node, map);
    if (node.is(Opcode::CallModule) || node.is(Opcode::GetAttr))
      copy->setTargetPath(joinPath(prefix, node.getTargetText()));
    values[&node] = Argument(copy);
  }
  return Argument();
}

using Listener = llvm::function_ref<void(const Node &call, Node &value)>;

/// Users of a call that returns a sequence: getitems read the elements; others get a tuple.
static void replaceBySequence(Node &call, const Argument &value, Listener replaced) {
  std::vector<Node *> users(call.getUsers().begin(), call.getUsers().end());
  for (Node *user : users) {
    bool isGetItem = user->is(Opcode::CallFunction) && user->getTarget()->op == OpKind::GetItem && user->getArgs().size() == 2 &&
                     user->getArg(1).isInt();
    int64_t index = isGetItem ? user->getArg(1).getInt() : 0;
    auto size = static_cast<int64_t>(value.getElements().size());
    index = index < 0 ? index + size : index;
    if (!isGetItem || index < 0 || index >= size || !value.getElements()[index].isNode())
      continue;
    replaced(*user, *value.getElements()[index].getNode());
    user->replaceAllUsesWith(value.getElements()[index].getNode());
    user->getParent()->erase(user);
  }
  if (call.getUsers().empty())
    return;
  Graph::InsertPoint guard = Graph::InsertPoint::before(&call);
  call.replaceAllUsesWith(call.getParent()->callFunction(requireFunction("builtins.tuple"), {value}));
}

void inlineModuleGraphs(GraphModule &model, llvm::function_ref<void(const Node &call, Node &value)> replaced) {
  for (bool found = true; found;) {
    found = false;
    for (Node *node : model.getGraph().getNodeVector()) {
      if (!node->is(Opcode::CallModule))
        continue;
      ModuleRef module = model.getModule(*node);
      if (!module || !hasGraph(*module))
        continue;
      found = true;
      Argument value = copyInner(*readGraph(*module), *node);
      if (Node *result = value.getNodeOrNull()) {
        replaced(*node, *result);
        node->replaceAllUsesWith(result);
      } else if (value.isSequence()) {
        replaceBySequence(*node, value, replaced);
      }
      if (node->getUsers().empty())
        model.getGraph().erase(node);
      else
        return; // a value that cannot be read as a node: binding the call reports it
    }
  }
}

} // namespace qfx::runtime
