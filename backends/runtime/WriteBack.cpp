// Finding what is written, under which names it is known, and who reads it afterwards.
#include "backends/runtime/WriteBack.h"

#include "ir/Bind.h"
#include "ir/Diagnostics.h"
#include "ir/Infer.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "ir/Text.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <optional>
#include <vector>

namespace qfx::runtime {

namespace {

/// `relu_`, `torch.relu_`, `aten.relu_.default`, `operator.iadd`.
bool isWritingName(llvm::StringRef text) {
  if (startsWith(text, "operator."))
    return llvm::StringSwitch<bool>(text.drop_front(9))
        .Cases("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", true)
        .Cases("iand", "ior", "ixor", "setitem", true)
        .Default(false);
  if (startsWith(text, "aten."))
    text = text.drop_front(5).split('.').first;
  const llvm::StringRef last = text.contains('.') ? text.rsplit('.').second : text;
  return endsWith(last, "_") && !endsWith(last, "__");
}

/// The value that a call writes into; null if it writes none.
Node *getWritten(const Node &node, const GraphModule &model) {
  if (!node.is(Opcode::CallFunction) && !node.is(Opcode::CallMethod) && !node.is(Opcode::CallModule))
    return nullptr;
  llvm::Expected<BoundCall> call = bindCall(node, model);
  if (!call) {
    llvm::consumeError(call.takeError()); // reported when types are inferred
    return nullptr;
  }
  if (call->slots.empty() || call->op->has(Traits::Identity))
    return nullptr;
  const BoundSlot *flag = call->find("inplace");
  const bool isFlagged = flag && flag->arg.isBool() && flag->arg.getBool();
  if (!isFlagged && (node.is(Opcode::CallModule) || !isWritingName(call->target->text)))
    return nullptr;
  return call->slots[0].arg.getNodeOrNull();
}

/// How a call's result stands to its first operand.
enum class Sharing { None, Whole, Part };

/// x[i, [2, 0]] and x[mask] copy.
bool hasIndexTensor(const Argument &index, const TypeMap &types) {
  if (index.isNode())
    return types.lookup(index.getNode()).getTensor();
  return index.getKind() == Argument::Kind::List ||
         (index.isSequence() && llvm::any_of(index.getElements(), [&](const Argument &one) { return hasIndexTensor(one, types); }));
}

/// Has the result the dtype and memory format of the operand, so that `to` gives the operand back?
bool keepsType(const Node &node, const TypeMap &types) {
  const ValueType before = types.lookup(node.getInputs()[0]), after = types.lookup(&node);
  const TensorType *from = before.getTensor(), *to = after.getTensor();
  return from && to && from->dtype == to->dtype && from->format == to->format;
}

Sharing getSharing(const Node &node, const GraphModule &model, const TypeMap &types) {
  const TargetInfo *target = node.getTarget();
  if (node.is(Opcode::CallModule)) {
    ModuleRef module = model.getModule(node);
    target = module ? module->getClass() : nullptr;
  }
  if (!target || node.getInputs().empty())
    return Sharing::None;
  switch (target->op) {
  case OpKind::Identity:
  case OpKind::Stub:
  case OpKind::Observe:
  case OpKind::Dropout:
  case OpKind::Detach:
    return Sharing::Whole;
  case OpKind::To:
  case OpKind::Dequantize:
    return keepsType(node, types) && !node.getKwarg("copy") ? Sharing::Whole : Sharing::None;
  case OpKind::Contiguous: // copies what is not contiguous, as a view may be
    return !keepsType(node, types) || getSharing(*node.getInputs()[0], model, types) == Sharing::Part ? Sharing::Part : Sharing::Whole;
  case OpKind::GetItem:
    return node.getArgs().size() == 2 && hasIndexTensor(node.getArg(1), types) ? Sharing::None : Sharing::Part;
  case OpKind::Reshape:
  case OpKind::Flatten:
  case OpKind::Unflatten:
  case OpKind::Transpose:
  case OpKind::TransposeMatrix:
  case OpKind::Permute:
  case OpKind::Movedim:
  case OpKind::Squeeze:
  case OpKind::Unsqueeze:
  case OpKind::Expand:
  case OpKind::ExpandAs:
  case OpKind::Chunk:
  case OpKind::Split:
  case OpKind::Unbind:
  case OpKind::Narrow:
  case OpKind::Select:
  case OpKind::Slice:
  case OpKind::TensorSplit:
  case OpKind::ReshapeAs:
  case OpKind::Diagonal:
  case OpKind::UnfoldDim:
  case OpKind::AsStrided:
    return Sharing::Part;
  default:
    return Sharing::None;
  }
}

/// Names under which written memory is known when node `write` runs.
class Aliases {
public:
  Aliases(const GraphModule &model, const TypeMap &types, const llvm::DenseMap<const Node *, size_t> &order, const Node &write)
      : model(model), types(types), order(order), write(write) {}

  struct Alias {
    Node *node;
    bool isWhole; ///< the very tensor; else a part or another view
    const Node *from; ///< the view of it that is written; null if `node` is a view itself
  };
  std::vector<Alias> find(Node *written) {
    collect(written, nullptr, true);
    return std::move(found);
  }

  /// Is `user` another piece of the split `node` than `from`?  Pieces do not overlap.
  static bool isOtherPiece(const Node &node, const Node *from, const Node &user) {
    const TargetInfo *target = node.getTarget();
    const bool isSplit = target && (target->op == OpKind::Chunk || target->op == OpKind::Split || target->op == OpKind::Unbind);
    return isSplit && from && from->getArgs().size() == 2 && user.getArgs().size() == 2 && from->getArg(1).isInt() && user.getArg(1).isInt() &&
           from->getArg(1).getInt() != user.getArg(1).getInt();
  }

private:
  void collect(Node *node, const Node *from, bool isWhole) {
    if (!visited.insert(node).second)
      return;
    found.push_back({node, isWhole, from});
    for (Node *user : node->getUsers()) {
      if (user == from || order.lookup(user) >= order.lookup(&write) || isOtherPiece(*node, from, *user))
        continue;
      if (const Sharing sharing = getSharing(*user, model, types); sharing != Sharing::None && user->getInputs()[0] == node)
        collect(user, nullptr, isWhole && sharing == Sharing::Whole);
    }
    const Sharing sharing = getSharing(*node, model, types);
    if (sharing != Sharing::None)
      collect(node->getInputs()[0], node, isWhole && sharing == Sharing::Whole);
  }

  const GraphModule &model;
  const TypeMap &types;
  const llvm::DenseMap<const Node *, size_t> &order;
  const Node &write;
  llvm::DenseSet<const Node *> visited;
  std::vector<Alias> found;
};

} // namespace

llvm::Error writeBack(GraphModule &model) {
  Graph &graph = model.getGraph();
  llvm::DenseMap<const Node *, size_t> order;
  std::optional<TypeMap> types;
  for (Node *write : graph.getNodeVector()) {
    Node *written = getWritten(*write, model);
    if (!written)
      continue;
    if (write->getTarget() && write->getTarget()->op == OpKind::SetItem && !write->getUsers().empty())
      return error(write->getLoc(), "'{0}' gives None, and '{1}' reads it", write->getName(), write->getUsers()[0]->getName()).code("run_write");
    if (order.empty()) {
      size_t count = 0;
      for (const Node &node : graph.nodes())
        order[&node] = count++;
      llvm::Expected<TypeMap> inferred = inferTypes(model);
      if (!inferred)
        return inferred.takeError();
      types = std::move(*inferred);
    }
    const ValueType type = types->lookup(written);
    if (!type.getTensor() && !type.isUnknown())
      continue; // numbers do not change
    for (const Aliases::Alias &alias : Aliases(model, *types, order, *write).find(written)) {
      if (alias.node->is(Opcode::GetAttr) && !(write->getUsers().empty() && written->hasOneUser()))
        return error(write->getLoc(), "'{0}' writes into '{1}', which belongs to the model: its tensors do not change when it runs",
                     write->getName(), alias.node->getTargetText())
            .code("run_write");
      std::vector<Node *> users(alias.node->getUsers().begin(), alias.node->getUsers().end());
      for (Node *user : users) {
        if (order.lookup(user) <= order.lookup(write) || Aliases::isOtherPiece(*alias.node, alias.from, *user))
          continue;
        if (!alias.isWhole)
          return error(write->getLoc(), "'{0}' writes into '{1}', and '{2}' reads '{3}' afterwards, which shares its elements: not supported, use the "
                       "form that does not write", write->getName(), written->getName(), user->getName(), alias.node->getName())
              .code("run_write");
        user->replaceInputWith(alias.node, write);
      }
    }
  }
  return llvm::Error::success();
}

} // namespace qfx::runtime
