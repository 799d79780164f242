// FX's graph: nodes in topological order, with users kept in insertion order.
#ifndef IR_GRAPH_H
#define IR_GRAPH_H

#include "ir/Argument.h"
#include "ir/Location.h"
#include "ir/Namespace.h"
#include "ir/TensorType.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/ilist.h"
#include "llvm/ADT/ilist_node.h"
#include "llvm/ADT/iterator_range.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace qfx {

class Graph;
struct TargetInfo;

enum class Opcode : uint8_t { Placeholder, GetAttr, CallFunction, CallMethod, CallModule, Output };
/// placeholder, get_attr, call_function, call_method, call_module, output.
llvm::StringRef getOpcodeName(Opcode opcode);

using Kwargs = std::vector<std::pair<std::string, Argument>>;

/// Path and class of the innermost module whose code made a node; empty path and class at the top level.
struct Scope {
  std::string path;
  std::string className;
  bool operator==(const Scope &other) const { return path == other.path && className == other.className; }
};

class Node : public llvm::ilist_node<Node> {
public:
  Opcode getOpcode() const { return opcode; }
  bool is(Opcode other) const { return opcode == other; }
  const std::string &getName() const { return name; }

  /// The target as FX prints it: a placeholder's parameter name, a module or attribute path, a function or method name.
  llvm::StringRef getTargetText() const;
  /// Row of the target table of a function or method; null for every other opcode.
  const TargetInfo *getTarget() const { return target; }
  /// True if this calls that very function or method (spelling, not operator).
  bool calls(const TargetInfo &other) const { return target == &other; }
  /// For call_module and get_attr: the path.  Never changes the edges.
  void setTargetPath(llvm::StringRef path);
  void setTarget(const TargetInfo &info);

  llvm::ArrayRef<Argument> getArgs() const { return args; }
  const Kwargs &getKwargs() const { return kwargs; }
  const Argument &getArg(size_t i) const { return args[i]; }
  /// The kwarg's value, or null.
  const Argument *getKwarg(llvm::StringRef key) const;
  /// Replaces arguments and recomputes users the way FX does: this node leaves every input's user list and is appended
  /// again, in the order its inputs appear, so it moves to the end even where an edge stays.
  void setArgs(std::vector<Argument> newArgs);
  void setKwargs(Kwargs newKwargs);
  void setArgsAndKwargs(std::vector<Argument> newArgs, Kwargs newKwargs);
  void setArg(size_t i, Argument value);

  /// Distinct nodes in args then kwargs, in order of first appearance.
  llvm::ArrayRef<Node *> getInputs() const { return inputs; }
  /// Distinct consumers, in insertion order.
  llvm::ArrayRef<Node *> getUsers() const { return users; }
  size_t getNumUsers() const { return users.size(); }
  bool hasOneUser() const { return users.size() == 1; }

  /// Rewrites every user, in user order, to read `other` instead; `keep(user)` may exempt some.
  void replaceAllUsesWith(Node *other, llvm::function_ref<bool(Node *)> replaceIf = nullptr);
  void replaceInputWith(Node *oldInput, Node *newInput);

  Graph *getParent() const { return parent; }
  Node *getPrevNode() const;
  Node *getNextNode() const;

  const Location &getLoc() const { return loc; }
  void setLoc(Location newLoc) { loc = std::move(newLoc); }
  /// Unset means the node has no scope entry (observers and quantize nodes that passes make).
  const std::optional<Scope> &getScope() const { return scope; }
  void setScope(std::optional<Scope> newScope) { scope = std::move(newScope); }
  const std::optional<TensorType> &getType() const { return type; }
  void setType(std::optional<TensorType> newType) { type = std::move(newType); }

  /// Small named facts that survive copying and printing.
  const std::vector<std::pair<std::string, Argument>> &getMeta() const { return meta; }
  const Argument *findMeta(llvm::StringRef key) const;
  void setMeta(llvm::StringRef key, Argument value);

private:
  friend class Graph;
  Node(Graph *parent, Opcode opcode) : parent(parent), opcode(opcode) {}
  void updateInputs();
  void addUser(Node *user);
  void removeUser(Node *user);

  Graph *parent;
  Opcode opcode;
  std::string name;
  std::string targetText; ///< placeholder, get_attr, call_module
  const TargetInfo *target = nullptr;
  std::vector<Argument> args;
  Kwargs kwargs;
  llvm::SmallVector<Node *, 4> inputs;
  llvm::SmallVector<Node *, 2> users;
  Location loc;
  std::optional<Scope> scope;
  std::optional<TensorType> type;
  std::vector<std::pair<std::string, Argument>> meta;
};

/// Owns its nodes.  New nodes go to the insert point, which is the end unless an InsertPoint guard is alive.
class Graph {
public:
  using NodeList = llvm::ilist<Node>;

  Graph();
  ~Graph();
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;

  // Every maker takes a name candidate ("" = derive from the target as FX does) and returns a node with a fresh name.
  Node *placeholder(llvm::StringRef target, std::optional<Argument> defaultValue = std::nullopt,
                    llvm::StringRef name = "");
  Node *getAttr(llvm::StringRef path, llvm::StringRef name = "");
  Node *callFunction(const TargetInfo &function, std::vector<Argument> args, Kwargs kwargs = {},
                     llvm::StringRef name = "");
  Node *callMethod(const TargetInfo &method, std::vector<Argument> args, Kwargs kwargs = {}, llvm::StringRef name = "");
  Node *callModule(llvm::StringRef path, std::vector<Argument> args, Kwargs kwargs = {}, llvm::StringRef name = "");
  Node *output(Argument value);
  /// A copy of `node` (of this or another graph) with arguments mapped, name reserved from its name, facts copied.
  Node *copyNode(const Node &node, llvm::function_ref<Argument(Node *)> map);

  /// Removes a node without users (asserted).
  void erase(Node *node);
  void moveBefore(Node *node, Node *position);
  void moveAfter(Node *node, Node *position);

  /// Nodes in order; erasing or inserting around the current one is fine in mutableNodes().
  llvm::iterator_range<NodeList::iterator> nodes() { return {list.begin(), list.end()}; }
  llvm::iterator_range<NodeList::const_iterator> nodes() const { return {list.begin(), list.end()}; }
  auto mutableNodes() { return llvm::make_early_inc_range(nodes()); }
  /// A snapshot of the node list.
  std::vector<Node *> getNodeVector();
  size_t getNumNodes() const { return list.size(); }
  bool empty() const { return list.empty(); }
  Node *getOutput();
  const Node *getOutput() const { return const_cast<Graph *>(this)->getOutput(); }
  Node *findNode(llvm::StringRef name);
  std::vector<Node *> getPlaceholders();

  /// Like FX: walks backwards and erases every node without users that is neither placeholder nor output nor impure.
  /// `isImpure` says so of calls; null means none is.  \returns whether anything went.
  bool eliminateDeadCode(llvm::function_ref<bool(const Node &)> isImpure = nullptr);

  Namespace &getNamespace() { return names; }

  /// Inserts before (or after) a node while alive, as FX's inserting_before / inserting_after.
  class InsertPoint {
  public:
    static InsertPoint before(Node *node) { return InsertPoint(*node->getParent(), node, nullptr); }
    static InsertPoint after(Node *node) { return InsertPoint(*node->getParent(), node->getNextNode(), node); }
    ~InsertPoint() { graph.insertBefore = saved; }
    InsertPoint(const InsertPoint &) = delete;

  private:
    InsertPoint(Graph &graph, Node *next, Node *) : graph(graph), saved(graph.insertBefore) { graph.insertBefore = next; }
    Graph &graph;
    Node *saved;
  };

private:
  friend class Node;
  Node *insertNew(Opcode opcode, llvm::StringRef candidate);

  NodeList list;
  Node *insertBefore = nullptr; ///< null: at the end
  Namespace names;
};

} // namespace qfx

#endif // IR_GRAPH_H
