// Inserting observer calls into a graph whose dtypes are planned (workflow 4.5 to 4.7).
#ifndef PASSES_PREPARE_OBSERVERINSERTER_H
#define PASSES_PREPARE_OBSERVERINSERTER_H

#include "passes/prepare/DTypePlan.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace qfx {

/// The constructors of a node's equalization observers, and where the channels of its input stand.
struct EqualizationChoice {
  QConfig qconfig;
  int64_t axis = 1;
};
using EqualizationChoices = llvm::DenseMap<const Node *, EqualizationChoice>;

class ObserverInserter {
public:
  /// Borrows all of its arguments.
  ObserverInserter(GraphModule &model, const DTypePlan &plan, const PrepareCustomConfig &custom, const EqualizationChoices &equalization);

  /// Walks the nodes that are there now, in order.  Errors: a dynamic qconfig on a value that is not a float tensor
  /// (`dynamic_argument`), a graph output with a leaf that is neither node nor None (`output_leaf`), an observer that
  /// cannot be built.
  llvm::Error run();

  /// Names of the nodes of supported patterns.
  llvm::StringSet<> takeObservedNodes() { return std::move(observedNodes); }

private:
  llvm::Error insertForNode(Node &node);
  llvm::Error insertForOutput(Node &output);
  llvm::Error insertInputObservers(Node &node);
  llvm::Expected<Argument> observeArgument(Node &node, const NodeDTypes &dtypes, const Argument &arg);
  /// Inputs of a standalone module: quint8 where its config says so, else as they are; keywords never.
  bool givesCodes(const Node &value) const;
  llvm::Error insertStandaloneInputs(Node &node, const QuantMatch &match, const QConfig &qconfig);
  /// The observer call on `value` that `spec` may share (same class, wanted dtype), or a new one.
  llvm::Expected<Argument> reuseOrInsert(Node &value, const ObserverSpec &spec);

  // Input-weight equalization, in EqualizationObservers.cpp.
  /// Does another quantized node read the node's first argument?  Asked before the node's own inputs are observed.
  bool isInBranch(const Node &node) const;
  /// Calls of `<argument>_equalization_process_N` between the node and its observed input and weight; a remark where it cannot be.
  llvm::Error insertEqualization(Node &node, bool isBranch);
  llvm::Expected<Node *> insertEqualizationObserver(Node &argument, const ObserverSpec &spec);
  void declineEqualization(const Node &node, std::string reason) const;

  // 4.8, in CustomModules.cpp.
  /// An LSTM's results get DeQuantStubs instead of observers, the tuples around them are rebuilt; of attention only the first result does.
  llvm::Error insertForCustomModule(Node &node, const QuantMatch &match);
  void insertLstmStubs(Node &lstm);
  void insertAttentionStub(Node &attention);
  Node *insertStub(Node &value);
  void markResult(Node *part, Node &whole) { wholes[part] = &whole; }
  llvm::Error swapToObserved(Node &node);
  llvm::Error insertOutputObserver(Node &node, const QuantMatch &match);

  /// Instantiates `spec` under the next free activation_post_process_N and calls it on `observed`, directly after it.
  llvm::Expected<Node *> insertObserver(Node &observed, const ObserverSpec &spec);

  /// The constructor that says what dtype `node` delivers; an observer call stands for the node it observes.
  const ObserverSpec *getOutputSpec(const Node &node) const;
  ModuleRef getObserver(const Node &node) const; ///< null if the node is no observer call
  void bindObserver(const Node &call, ModuleRef observer);

  /// 4.7.  False if there is no observer to share.  `isScalar`: arithmetic with one tensor operand, whose output is
  /// derived.
  llvm::Expected<bool> shareObservers(Node &node, const QuantMatch &match, const ObserverSpec &spec, bool isScalar);
  /// The first observer call at or above `argument` along first node arguments, or null.
  Node *findObserverAbove(const Argument &argument) const;
  /// The same along args[0] only, as upstream does for further list elements.
  Node *findObserverAlongFirst(const Argument &argument) const;
  void removeOutputObservers(Node &node);

  /// QFX: gives the output of `x + c` and the like an observer derived from x's.  Where this op has no such form its
  /// output keeps an observer of its own and the op is marked so that it is not lowered.
  void deriveObserver(Node &anchor, Node &root, const Node &source, const ObserverSpec &spec);
  /// An output that joins others in a list cannot be derived: back to an observer with statistics.
  llvm::Error materialize(const Node &call);

  GraphModule &model;
  const DTypePlan &plan;
  const PrepareCustomConfig &custom;
  const EqualizationChoices &equalization;
  llvm::DenseMap<const Node *, Node *> wholes; ///< parts of a custom module's result -> its call
  llvm::StringSet<> swappedPaths;              ///< custom modules that are observed ones already
  llvm::StringMap<ModuleRef> floatCustomModules; ///< by path, as they were at their first call
  unsigned nextObserver = 0;
  llvm::StringSet<> takenNames;               ///< the model's own members that look like observer names
  llvm::StringMap<ModuleRef> observersByPath; ///< what the observer calls of the graph call now
  llvm::StringSet<> observedNodes;
  struct Derived {
    Node *root;
    const ObserverSpec *spec;
  };
  llvm::DenseMap<const Module *, Derived> derivedObservers;
};

} // namespace qfx

#endif // PASSES_PREPARE_OBSERVERINSERTER_H
