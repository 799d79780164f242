// What a user may say about fuse, prepare and convert beside qconfigs (workflow 8.1): FuseCustomConfig, PrepareCustomConfig,
// ConvertCustomConfig.
#ifndef BACKENDS_CONFIG_CUSTOMCONFIG_H
#define BACKENDS_CONFIG_CUSTOMCONFIG_H

#include "backends/config/BackendConfig.h"
#include "backends/config/QConfigMapping.h"

#include <array>
#include <memory>

namespace qfx {

/// How values are quantized, as far as the choice of a custom module's class depends on it.
enum class QuantType : uint8_t { Static, Dynamic, WeightOnly };
/// static, dynamic, weight_only.
llvm::StringRef getQuantTypeName(QuantType type);
std::optional<QuantType> parseQuantType(llvm::StringRef name);

/// Which class stands for which, in order of setting; setting a key again replaces its value in place.
class ModuleClassMap {
public:
  void set(OperatorName from, OperatorName to);
  /// Null if there is none.
  const OperatorName *find(const OperatorName &from) const;
  bool empty() const { return entries.empty(); }
  const std::vector<std::pair<OperatorName, OperatorName>> &getEntries() const { return entries; }

private:
  std::vector<std::pair<OperatorName, OperatorName>> entries;
};

class FuseCustomConfig {
public:
  /// Members of the root that stay although the graph does not use them.  Replaces the list.
  FuseCustomConfig &setPreservedAttributes(std::vector<std::string> names);
  const std::vector<std::string> &getPreservedAttributes() const { return preservedAttributes; }
  /// `FuseCustomConfig({'preserved_attributes': ['a']})`, empty fields left out.
  std::string toString() const;

private:
  std::vector<std::string> preservedAttributes;
};

class PrepareCustomConfig;

/// How a standalone module is prepared.  Unset: the qconfig of the calling node as global one, an empty config, the parent's backend.
struct StandaloneModuleConfig {
  std::optional<QConfigMapping> qconfigMapping;
  std::shared_ptr<const PrepareCustomConfig> prepareCustomConfig;
  std::shared_ptr<const BackendConfig> backendConfig;
};

class PrepareCustomConfig {
public:
  /// A module that is prepared by itself and stays one call; the entry of its path beats that of its class.
  PrepareCustomConfig &setStandaloneModuleName(std::string path, StandaloneModuleConfig config);
  PrepareCustomConfig &setStandaloneModuleClass(OperatorName moduleClass, StandaloneModuleConfig config);
  /// Observed modules take the place of float ones of exactly that class (static quantization only, as upstream).
  PrepareCustomConfig &setFloatToObservedMapping(OperatorName floatClass, OperatorName observedClass);
  /// Modules that stay one float call.
  PrepareCustomConfig &setNonTraceableModuleNames(std::vector<std::string> paths);
  PrepareCustomConfig &setNonTraceableModuleClasses(std::vector<OperatorName> classes);
  /// Graph inputs that arrive as quint8, and output values that convert leaves quantized.
  PrepareCustomConfig &setInputQuantizedIndexes(std::vector<int64_t> indexes);
  PrepareCustomConfig &setOutputQuantizedIndexes(std::vector<int64_t> indexes);
  PrepareCustomConfig &setPreservedAttributes(std::vector<std::string> names);

  const std::vector<std::pair<std::string, StandaloneModuleConfig>> &getStandaloneModuleNames() const { return standaloneNames; }
  const std::vector<std::pair<OperatorName, StandaloneModuleConfig>> &getStandaloneModuleClasses() const { return standaloneClasses; }
  /// The entry for a module, or null.
  const StandaloneModuleConfig *findStandalone(llvm::StringRef path, const OperatorName &moduleClass) const;
  const ModuleClassMap &getFloatToObserved() const { return floatToObserved; }
  const std::vector<std::string> &getNonTraceableModuleNames() const { return nonTraceableNames; }
  const std::vector<OperatorName> &getNonTraceableModuleClasses() const { return nonTraceableClasses; }
  const std::vector<int64_t> &getInputQuantizedIndexes() const { return inputQuantizedIndexes; }
  const std::vector<int64_t> &getOutputQuantizedIndexes() const { return outputQuantizedIndexes; }
  const std::vector<std::string> &getPreservedAttributes() const { return preservedAttributes; }
  std::string toString() const;

private:
  std::vector<std::pair<std::string, StandaloneModuleConfig>> standaloneNames;
  std::vector<std::pair<OperatorName, StandaloneModuleConfig>> standaloneClasses;
  ModuleClassMap floatToObserved;
  std::vector<std::string> nonTraceableNames;
  std::vector<OperatorName> nonTraceableClasses;
  std::vector<int64_t> inputQuantizedIndexes, outputQuantizedIndexes;
  std::vector<std::string> preservedAttributes;
};

class ConvertCustomConfig {
public:
  /// Quantized modules take the place of observed ones, by the way their qconfig quantizes.
  ConvertCustomConfig &setObservedToQuantizedMapping(OperatorName observedClass, OperatorName quantizedClass,
                                                     QuantType type = QuantType::Static);
  ConvertCustomConfig &setPreservedAttributes(std::vector<std::string> names);
  const ModuleClassMap &getObservedToQuantized(QuantType type) const { return observedToQuantized[static_cast<size_t>(type)]; }
  /// Is the class a key of one of the three maps?
  bool isObservedClass(const OperatorName &moduleClass) const;
  const std::vector<std::string> &getPreservedAttributes() const { return preservedAttributes; }
  std::string toString() const;

private:
  std::array<ModuleClassMap, 3> observedToQuantized;
  std::vector<std::string> preservedAttributes;
};

/// A --custom-config file.
struct CustomConfig {
  FuseCustomConfig fuse;
  PrepareCustomConfig prepare;
  ConvertCustomConfig convert;
  /// Section `convert`, key `qconfig_mapping`: entries set on top of prepare's mapping when converting (workflow 2.5); they can only say
  /// "none" or repeat what prepare had.
  std::optional<QConfigMapping> convertOverrides;
};

/// Reads the JSON form (docs/CustomConfig.md).  All errors come together, with line, column and pointer.
llvm::Expected<CustomConfig> parseCustomConfig(std::shared_ptr<const SourceText> text);
llvm::Expected<CustomConfig> loadCustomConfig(llvm::StringRef path);

} // namespace qfx

#endif // BACKENDS_CONFIG_CUSTOMCONFIG_H
