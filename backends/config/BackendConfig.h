// BackendConfig and BackendPatternConfig: what a backend can quantize, and how.
#ifndef BACKENDS_CONFIG_BACKENDCONFIG_H
#define BACKENDS_CONFIG_BACKENDCONFIG_H

#include "backends/config/DTypeConfig.h"
#include "backends/config/Pattern.h"

#include "llvm/Support/Error.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace qfx {

/// backend_config.md 1.1, values as in PyTorch.
enum class ObservationType : uint8_t {
  OutputUseDifferentObserverAsInput = 0,
  OutputShareObserverWithInput = 1,
  InputOutputNotObserved = 2,
};

/// The fuser methods of backend_config.md 9.2, and the object form of 9.3.
struct FuserMethod {
  enum class Kind : uint8_t {
    SequentialWrapper2, ConvBn, ConvBnRelu, LinearBn, ConvTransposeBn, LinearBnLeakyRelu,
    ConvAddLeft, ConvAddRight, ConvBnAddLeft, ConvBnAddRight,
    ConvAddReluLeft, ConvAddReluRight, ConvBnAddReluLeft, ConvBnAddReluRight,
    Object
  };
  Kind kind = Kind::SequentialWrapper2;
  std::vector<PatternPath> children;          ///< Object only, paths into the internal pattern; the first is the root
  std::optional<PatternPath> foldBatchNorm;   ///< Object only
  bool operator==(const FuserMethod &) const = default;
};
/// The spelling in files ("fuse_conv_bn"); empty for Object.
llvm::StringRef getFuserMethodName(FuserMethod::Kind kind);
std::optional<FuserMethod::Kind> parseFuserMethod(llvm::StringRef name);

/// backend_config.md 1.4.
struct BackendPatternConfig {
  Pattern pattern;                 ///< internal form
  bool isComplexFormat = false;    ///< given as pattern_complex_format
  ObservationType observationType = ObservationType::OutputUseDifferentObserverAsInput;
  std::vector<DTypeConfig> dtypeConfigs;
  std::vector<std::string> dtypeConfigNames; ///< names used in the file, parallel to dtypeConfigs ("" = inline); for saving
  std::optional<OperatorName> rootModule, qatModule, referenceQuantizedModule, fusedModule;
  std::optional<FuserMethod> fuserMethod;
  std::optional<PatternPath> rootNodePath;          ///< resolved root_node_getter
  std::vector<PatternPath> extraInputPaths;         ///< resolved extra_inputs_getter
  std::map<unsigned, ObservationType> numTensorArgsToObservationType;
  std::map<std::string, unsigned> inputTypeToIndex; ///< keys input, weight, bias

  PatternPath getRootPath() const { return rootNodePath ? *rootNodePath : pattern.getDefaultRootPath(); }
  bool operator==(const BackendPatternConfig &) const;
};

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

  // backend_config.md 10, in map order.
  std::vector<OperatorName> getQatModuleClasses() const;
  std::vector<OperatorName> getFusedModuleClasses() const;
  std::vector<std::pair<OperatorName, OperatorName>> getRootModuleToQuantizedReferenceModule() const;
  std::vector<std::pair<OperatorName, OperatorName>> getModuleToQatModule() const;

  /// Entries in matching order (7.4): tuples first by descending leaf count, then single operators, stable.
  std::vector<const BackendPatternConfig *> getSortedConfigs() const;

  bool operator==(const BackendConfig &other) const;

private:
  std::string name;
  std::vector<BackendPatternConfig> configs;
};

/// native fbgemm x86 qnnpack onednn executorch tensorrt.
std::vector<std::string> getBuiltinBackendNames();
/// A fresh object equal to the built-in file of that name; null if there is none.
std::optional<BackendConfig> getBuiltinBackendConfig(llvm::StringRef name);

} // namespace qfx

#endif // BACKENDS_CONFIG_BACKENDCONFIG_H
