// BackendConfig: what a backend can quantize, and how.
#ifndef BACKENDS_CONFIG_BACKENDCONFIG_H
#define BACKENDS_CONFIG_BACKENDCONFIG_H

#include "backends/config/BackendPatternConfig.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace qfx {

/// An insertion-ordered map from internal pattern to entry; setting an existing pattern replaces it in place.
class BackendConfig {
public:
  explicit BackendConfig(std::string name = "") : name(std::move(name)) {}

  const std::string &getName() const { return name; }
  BackendConfig &setName(std::string newName);
  BackendConfig &setBackendPatternConfig(BackendPatternConfig config);
  BackendConfig &setBackendPatternConfigs(std::vector<BackendPatternConfig> configs);
  const std::vector<BackendPatternConfig> &getConfigs() const { return configs; }
  const BackendPatternConfig *find(const Pattern &pattern) const;
  /// The entry whose pattern is that single operator, or null.
  const BackendPatternConfig *findSingle(const OperatorName &op) const;

  /// The built-in configuration whose default qconfig mapping serves this one: its own name for a built-in, that of the built-in at the end
  /// of the chain for a file that extends one, else empty (then a mapping is derived, DerivedMapping.h).  Neither compared nor saved.
  const std::string &getDefaultMappingName() const { return defaultMappingName; }
  BackendConfig &setDefaultMappingName(std::string builtinName);

  // backend_config.md 10, in map order; more in BackendConfigUtils.h.
  std::vector<OperatorName> getQatModuleClasses() const;
  std::vector<OperatorName> getFusedModuleClasses() const;
  std::vector<std::pair<OperatorName, OperatorName>> getRootModuleToQuantizedReferenceModule() const;
  std::vector<std::pair<OperatorName, OperatorName>> getModuleToQatModule() const;

  /// Entries in matching order (7.4): tuples first by descending leaf count, then single operators, stable.
  std::vector<const BackendPatternConfig *> getSortedConfigs() const;

  bool operator==(const BackendConfig &other) const;

private:
  std::string name, defaultMappingName;
  std::vector<BackendPatternConfig> configs;
};

/// native fbgemm x86 qnnpack onednn executorch tensorrt.
std::vector<std::string> getBuiltinBackendNames();
/// A fresh object equal to the built-in file of that name; null if there is none.
std::optional<BackendConfig> getBuiltinBackendConfig(llvm::StringRef name);

} // namespace qfx

#endif // BACKENDS_CONFIG_BACKENDCONFIG_H
