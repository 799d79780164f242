// propagate-int8: chunk, split, slices and other data movement on codes instead of on dequantized values (known_traps B25).
#include "ir/Ops.h"
#include "ir/OpKind.h"
#include "passes/GraphUtils.h"
#include "passes/PassRegistry.h"
#include "passes/lower/QuantizedCat.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace qfx {

namespace {
/// Works on a reference graph:
///   q -> dequantize -> chunk -> getitem -> quantize(s, z) -> dequantize -> ...   becomes   q -> chunk -> getitem -> dequantize -> ...
/// A piece keeps the codes and the parameters of what it is a piece of.  Where pieces join others in a cat, the cat becomes
/// quantized::cat, which brings every operand to the parameters of the result.
class Propagation {
public:
  explicit Propagation(GraphModule &model) : graph(model.getGraph()) {}

  bool run() {
    std::vector<Node *> dequantizes, quantizes;
    for (Node &node : graph.nodes())
      if (Node *codes = isDequantize(&node) ? node.getArg(0).getNodeOrNull() : nullptr; codes && isQuantize(*codes))
        dequantizes.push_back(&node);
    for (Node *node : dequantizes)
      moveUsers(*node, *node->getArg(0).getNode());
    for (Node &node : graph.nodes())
      if (isQuantize(node))
        quantizes.push_back(&node);
    for (Node *node : quantizes)
      joinPieces(*node);
    graph.eliminateDeadCode();
    return changed;
  }

private:
  static bool isQuantize(const Node &node) {
    static const TargetInfo &quantize = requireFunction("torch.quantize_per_tensor");
    return isFunctionCall(&node, quantize) && node.getArgs().size() == 4;
  }

  static bool isGetItem(const Node *node) { return node->getTarget() && node->getTarget()->op == OpKind::GetItem; }

  /// A quantize to the dtype of the codes that are being followed.  Not one whose codes a stack joins: that has no form that brings its
  /// operands to one scale, as quantized::cat does.
  bool isSameQuantize(const Node &node) const {
    static const TargetInfo &cat = requireFunction("torch.cat");
    auto isStacked = [](const Node *dequantize) {
      return llvm::any_of(dequantize->getUsers(), [](const Node *user) { return isJoin(*user) && !isFunctionCall(user, cat); });
    };
    return isQuantize(node) && node.getArg(3) == dtype && llvm::none_of(node.getUsers(), isStacked);
  }

  /// Does `node` only move the elements of its first operand, which is `value`?  Joining operators have operands of other parameters.
  static bool isMovement(const Node &node, const Node &value) {
    if (!node.getTarget() || node.getArgs().empty() || node.getArg(0).getNodeOrNull() != &value)
      return false;
    const OpInfo &op = node.getTarget()->getOp();
    if (!op.has(Traits::ViewsData) || isJoin(node))
      return false;
    bool yieldsTuple = op.kind == OpKind::Chunk || op.kind == OpKind::Split || op.kind == OpKind::Unbind;
    if (yieldsTuple && !llvm::all_of(node.getUsers(), isGetItem)) // a tuple as such cannot be dequantized
      return false;
    bool hasOther = false; // sizes computed from elsewhere are fine, the value itself a second time is not
    for (const Argument &arg : node.getArgs().drop_front())
      arg.forEachNode([&](Node *other) { hasOther |= other == &value; });
    return !hasOther;
  }

  /// `floats` is the dequantized form of `codes`.  Only where a chain of movements ends in a quantize is there something to gain.
  void moveUsers(Node &floats, Node &codes) {
    std::vector<Node *> users(floats.getUsers().begin(), floats.getUsers().end());
    // By now the quantize below may have gone: then a piece stands there, of the dtype of what it is a piece of.
    auto piece = pieces.find(&codes);
    if (piece == pieces.end() && !isQuantize(codes))
      return;
    dtype = piece == pieces.end() ? codes.getArg(3) : piece->second;
    for (Node *user : users)
      if (isMovement(*user, floats) && endsInQuantize(*user))
        move(*user, floats, codes);
  }

  bool endsInQuantize(const Node &movement) const {
    return llvm::any_of(movement.getUsers(), [&](const Node *user) {
      return isSameQuantize(*user) || (isMovement(*user, movement) && endsInQuantize(*user));
    });
  }

  void move(Node &movement, Node &floats, Node &codes) {
    changed = true;
    pieces.try_emplace(&movement, dtype);
    if (&floats != &codes)
      movement.replaceInputWith(&floats, &codes);
    std::vector<Node *> users(movement.getUsers().begin(), movement.getUsers().end());
    Node *dequantize = nullptr;
    for (Node *user : users) {
      if (isSameQuantize(*user)) {
        user->replaceAllUsesWith(&movement); // dequantizes read the piece itself
        graph.erase(user);
      } else if (isMovement(*user, movement)) {
        move(*user, movement, movement);
      } else if (!readsFacts(*user)) { // a float reader
        if (!dequantize) {
          auto insertPoint = Graph::InsertPoint::after(&movement);
          dequantize = graph.callMethod(requireMethod("dequantize"), {&movement});
          dequantize->setLoc(movement.getLoc());
        }
        user->replaceInputWith(&movement, dequantize);
      }
    }
  }

  /// size, shape: the same of codes.
  static bool readsFacts(const Node &node) { return node.getTarget() && node.getTarget()->getOp().has(Traits::HostValue); }

  /// cat([dequantize(a), dequantize(b)]) -> quantize(s, z), one of them a piece: quantized::cat([a, b], dim, s, z).
  void joinPieces(Node &quantize) {
    if (!isQuantize(quantize))
      return;
    if (llvm::any_of(getJoinedCodes(quantize), [&](Node *codes) { return pieces.count(codes) != 0; }))
      lowerToQuantizedCat(quantize);
  }

  Graph &graph;
  Argument dtype; ///< of the codes whose users are being moved
  llvm::DenseMap<const Node *, Argument> pieces; ///< moved values -> dtype of their codes
  bool changed = false;
};

struct PropagateInt8Pass final : Pass {
  llvm::Expected<bool> run(GraphModule &model, PassContext &context) override {
    bool changed = Propagation(model).run();
    dropUnreferencedMembers(model, context.customConfig.convert.getPreservedAttributes());
    return changed;
  }
};
} // namespace

std::unique_ptr<Pass> createPropagateInt8(const PassOptions &) { return std::make_unique<PropagateInt8Pass>(); }

} // namespace qfx
