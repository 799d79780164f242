// BackendPatternConfig: one entry of a BackendConfig, what a backend does with one pattern.
#ifndef BACKENDS_CONFIG_BACKENDPATTERNCONFIG_H
#define BACKENDS_CONFIG_BACKENDPATTERNCONFIG_H

#include "backends/config/DTypeConfig.h"
#include "backends/config/Pattern.h"

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

/// backend_config.md 1.4.  Fields may be set directly; the setters read as a file does, and return the entry:
///   BackendPatternConfig().setPattern({"torch.nn.Linear", "torch.nn.ReLU"}).addDTypeConfig(int8)
///       .setFusedModule("torch.ao.nn.intrinsic.LinearReLU").setFuserMethod(FuserMethod::Kind::SequentialWrapper2)
/// Names are those of files: a class, function or method, aliases folded; a name that no row has stands for a user's own class or function.
/// What a file would be refused for is not refused here: checkBackendConfig (BackendConfigJson.h) says it of the whole configuration.
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

  /// One to three operators in data-flow order (asserted); replaces an earlier pattern of the same form, a complex one is asserted against.
  BackendPatternConfig &setPattern(std::initializer_list<llvm::StringRef> forward);
  /// The internal form itself (backend_config.md 6.2), for patterns that are no chain.
  BackendPatternConfig &setPatternComplexFormat(Pattern internal);
  BackendPatternConfig &setObservationType(ObservationType type);
  /// Appends an alternative; a name lets several entries share it when saved.
  BackendPatternConfig &addDTypeConfig(DTypeConfig config, std::string name = "");
  /// Replaces all alternatives.
  BackendPatternConfig &setDTypeConfigs(std::vector<DTypeConfig> configs);
  BackendPatternConfig &setRootModule(llvm::StringRef moduleClass);
  BackendPatternConfig &setQatModule(llvm::StringRef moduleClass);
  BackendPatternConfig &setReferenceQuantizedModule(llvm::StringRef moduleClass);
  BackendPatternConfig &setFusedModule(llvm::StringRef moduleClass);
  BackendPatternConfig &setFuserMethod(FuserMethod::Kind named);
  /// The object form: build the fused module from the operators at these paths (the root first), a batch norm folded before.
  BackendPatternConfig &setFuserMethod(std::vector<PatternPath> children, std::optional<PatternPath> foldBatchNorm = std::nullopt);
  BackendPatternConfig &setRootNodePath(PatternPath path);
  BackendPatternConfig &setExtraInputPaths(std::vector<PatternPath> paths);
  BackendPatternConfig &setNumTensorArgsToObservationType(std::map<unsigned, ObservationType> types);
  BackendPatternConfig &setInputTypeToIndex(std::map<std::string, unsigned> indices);

  PatternPath getRootPath() const { return rootNodePath ? *rootNodePath : pattern.getDefaultRootPath(); }
  bool operator==(const BackendPatternConfig &) const;
};

} // namespace qfx

#endif // BACKENDS_CONFIG_BACKENDPATTERNCONFIG_H
