// The `qconfig` attribute of modules in eager mode, and how it spreads down the module tree.
#ifndef PASSES_EAGER_MODULEQCONFIGS_H
#define PASSES_EAGER_MODULEQCONFIGS_H

#include "backends/config/QConfigMapping.h"
#include "passes/eager/ModuleMappings.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"

namespace qfx {

class GraphModule;

/// Which module objects have a qconfig, and which.  A module may have none recorded, or have one recorded that says "do not quantize":
/// PyTorch tells `hasattr(m, "qconfig")` from `m.qconfig is None`.
class ModuleQConfigs {
public:
  /// Null if the module has no qconfig attribute.
  const OptionalQConfig *find(const Module &module) const;
  /// The qconfig, or null if the module has none or one that says none.
  const QConfig *getActive(const Module &module) const;
  void set(const ModuleRef &module, OptionalQConfig qconfig);
  /// For the root of a model, which lives as long as the model does.
  void setRoot(const Module &root, OptionalQConfig qconfig);
  /// Has any module an active one?
  bool hasActive() const;

  /// Reads meta `eager_qconfigs`; without it nobody has one.  Errors: a malformed entry, a path that leads nowhere
  /// (`eager_qconfigs`).
  static llvm::Expected<ModuleQConfigs> load(const GraphModule &model);
  /// Writes the meta entry: distinct qconfigs once, then path -> number ("" is the root, a shared module by its first path).
  void store(GraphModule &model) const;
  static void drop(GraphModule &model);

private:
  struct Entry {
    ModuleRef keepsAlive; ///< keys are addresses: a freed one must not come back as another module
    OptionalQConfig qconfig;
  };
  llvm::DenseMap<const Module *, Entry> entries;
};

/// What propagate_qconfig_ may not enter (keys of prepare_custom_config_dict).
struct PropagateOptions {
  std::vector<std::string> nonTraceableModuleNames;
  ModuleClassList nonTraceableModuleClasses;
};

/// `module.qconfig = qconfig`.  \param path "" is the root.  Errors: no such module (`eager_module`).
llvm::Error setQConfig(GraphModule &model, llvm::StringRef path, OptionalQConfig qconfig);

/// propagate_qconfig_ (workflow 7.2): each module gets the qconfig of its class in `spec`, else its parent's; overridden by one under its
/// dotted name; a qconfig that it has already wins over both.  `spec`'s global one is that of the root's name.  Names and classes of
/// `options` are not entered.  A transposed convolution with a per-channel weight observer is accepted (upstream asserts): axis 1 is used.
/// Errors: `spec` has regular expressions or order entries, which eager mode does not know (`eager_spec`).
llvm::Error propagateQConfig(GraphModule &model, const QConfigMapping &spec = {}, const PropagateOptions &options = {});

} // namespace qfx

#endif // PASSES_EAGER_MODULEQCONFIGS_H
