// Eager mode's observer hooks as calls in the graph: what module(x) returned goes through module.activation_post_process.
#ifndef PASSES_EAGER_OBSERVERHOOKS_H
#define PASSES_EAGER_OBSERVERHOOKS_H

#include "ir/GraphModule.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"

namespace qfx {

/// The child under which eager mode keeps a module's observer.
inline constexpr llvm::StringLiteral kActivationPostProcess = "activation_post_process";

/// PyTorch registers a forward hook that returns `module.activation_post_process(output)`; here that is a call_module node behind each call
/// of the module (before it, on its first operand, for a pre-hook), so that calibration, saving and running need nothing new.
class ObserverHooks {
public:
  explicit ObserverHooks(GraphModule &model);

  /// Makes `observer` the module's child activation_post_process and hooks it to every call of the module.  A module that the graph does
  /// not call but whose code was inlined (a container) is observed where its value leaves it; one inside a called module (a layer of a
  /// Transformer) where that module's own code calls it (Composer::callChild), or nowhere (the projection in an attention), as in PyTorch.
  /// Errors: an inlined module of several results, or none, an observer before a module inside a called one (`eager_hook`).
  llvm::Error attach(const ModuleRef &module, const std::string &path, ModuleRef observer, bool preHook);

  /// The observer that attach (or PyTorch) put on `module`, or null.
  static ModuleRef getObserver(const Module &module);
  /// Has any module of the model an observer, as after eager mode's prepare?
  static bool isHooked(const GraphModule &model);
  /// Removes the module's observer and the calls of it.  Does nothing without one.
  void remove(Module &module);

  /// `now` stands at the paths where `old` stood.
  void replaceModule(const Module &old, const ModuleRef &now);

  /// Nodes that call `module`, in order; the ones made since construction excluded.
  llvm::ArrayRef<Node *> getCalls(const Module &module) const;

private:
  bool isInsideCalled(llvm::StringRef path) const;
  llvm::Expected<Node *> findInlinedResult(const std::string &path, const Location &loc);
  void insertCall(const std::string &path, Node *observed, Node *preHookOf);

  GraphModule &model;
  llvm::DenseMap<const Module *, std::vector<Node *>> calls;
};

} // namespace qfx

#endif // PASSES_EAGER_OBSERVERHOOKS_H
