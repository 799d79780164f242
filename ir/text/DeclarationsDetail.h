// What the lines above the graph declare, and the module tree made from them; private to ir/text.
#ifndef IR_TEXT_DECLARATIONSDETAIL_H
#define IR_TEXT_DECLARATIONSDETAIL_H

#include "ir/Diagnostics.h"
#include "ir/Module.h"
#include "ir/text/QfxText.h"

#include "llvm/ADT/StringSet.h"

#include <optional>
#include <string>
#include <vector>

namespace qfx {

struct ModuleDecl {
  std::string path;
  Location loc;
  ModuleRef module;    ///< null for an alias
  std::string aliasOf; ///< path of the object that also stands here
  Location aliasLoc;
};

struct TensorDecl {
  bool isParameter = false;
  std::string path;
  Location loc;
  std::optional<TensorType> type; ///< unset for an alias
  Tensor data;                    ///< null: from the weights file, or an alias
  std::string aliasOf;
  Location aliasLoc;
};

struct WeightsDecl {
  std::string file;
  Location loc;
};

struct Declarations {
  ModuleRef root = std::make_shared<Module>();
  std::vector<ModuleDecl> modules;
  std::vector<TensorDecl> tensors;
  std::vector<WeightsDecl> weights;
  /// Paths whose declaration failed to parse: nobody complains that they are missing.
  llvm::StringSet<> broken;
};

/// A tensor that a module's class wants and nobody gives; an error only if the module is called.
struct MissingTensor {
  const Module *module;
  Diagnostic diagnostic;
};

struct ModuleTree {
  ModuleRef root;
  std::vector<MissingTensor> missing;
};

constexpr size_t kMaxModuleDepth = 64;
constexpr uint64_t kMaxModulePaths = 100'000;
/// Reading stops at so many findings.
constexpr size_t kMaxErrors = 100;

/// Hangs the declared modules under the root and fills their tensors from the lines and the weights files.  `sourceName` is the
/// .qfx file's name, beside which weights files are looked up.  Findings go to `errors`, extra tensors to options.warnings.
ModuleTree buildModuleTree(const Declarations &declarations, llvm::StringRef sourceName, const LoadOptions &options,
                           ErrorList &errors);

/// All module paths below `root`, for "did you mean".
std::vector<std::string> getModulePaths(const Module &root);
/// All tensor paths below `root`.
std::vector<std::string> getTensorPaths(const Module &root);

} // namespace qfx

#endif // IR_TEXT_DECLARATIONSDETAIL_H
