// Per node: the dtypes that its quantize steps will have, decided from qconfigs, patterns and backend (workflow 4.3).
#ifndef PASSES_PREPARE_DTYPEPLAN_H
#define PASSES_PREPARE_DTYPEPLAN_H

#include "backends/config/CustomConfig.h"
#include "ir/Infer.h"
#include "passes/config/Matcher.h"
#include "passes/config/QConfigResolver.h"
#include "passes/prepare/SupportFailure.h"
#include "passes/prepare/TensorArguments.h"

#include <optional>
#include <unordered_map>
#include <vector>

namespace qfx {

struct PassContext;

/// FX's target_dtype_info.  A null constructor means "no quantize step, dtype unknown or not a float tensor".
struct NodeDTypes {
  const ObserverSpec *input = nullptr, *output = nullptr;
  const ObserverSpec *weight = nullptr, *bias = nullptr;
  bool hasParameterDTypes = false; ///< weight and bias were decided (null weight then means none)
  std::optional<unsigned> weightIndex, biasIndex;
  bool reuseInput = false; ///< the output takes the input's observer (ReuseInputObserver)
  bool shareInput = false; ///< OUTPUT_SHARE_OBSERVER_WITH_INPUT

  bool isWeight(const Node &node, const Argument &arg) const;
  bool isBias(const Node &node, const Argument &arg) const;
};

/// What a match stands for.
enum class MatchKind : uint8_t {
  Pattern,
  CustomModule, ///< a call of a float custom module: observed as a whole, then replaced by its observed class
  Standalone,   ///< a call of a module that is prepared by itself
};

/// A match and the observation type that its operand count chooses.
struct QuantMatch {
  Match match; ///< without an entry unless the kind is Pattern
  MatchKind kind = MatchKind::Pattern;
  const StandaloneModuleConfig *standalone = nullptr; ///< of a Standalone match
  ObservationType observation = ObservationType::OutputUseDifferentObserverAsInput;
  bool isSupported = true;              ///< some dtype config fits (decide)
  std::vector<SupportFailure> refusals; ///< of the dtype configs tried before the one that fits, of all if none does
};

/// What prepare knows about every node before it inserts the first observer.
class DTypePlan {
public:
  DTypePlan(GraphModule &model, const BackendConfig &backend, PassContext &context)
      : model(model), backend(backend), context(context), tensorArguments(model) {}

  /// 2.3: qconfigs of all nodes; under context.splitOutputs none for what joins values right before they leave the model.
  llvm::Error resolveQConfigs(const QConfigMapping &mapping);
  /// 4.2: matches and their observation types; a missing operand count is an error (`operand_count`).  Custom and standalone modules
  /// come last and override the patterns they are part of.
  llvm::Error findMatches(const PrepareCustomConfig &custom);
  /// 4.3 steps 1 to 3.  Unsupported matches get float dtypes and a remark.
  llvm::Error decide(llvm::ArrayRef<int64_t> inputQuantizedIndexes, bool strictModuleWeights);

  const NodeDTypes &getDTypes(const Node &node) const;
  /// The node's match, or null.
  const QuantMatch *findMatch(const Node &node) const;
  /// The node's own qconfig, or null if it is none.
  const QConfig *findQConfig(const Node &node) const;
  const std::unordered_map<const Node *, ResolvedQConfig> &getQConfigs() const { return qconfigs; }
  const std::vector<QuantMatch> &getMatches() const { return matches; }
  /// Why a node was left float, as far as a remark said so.
  std::string getReason(const Node &node) const;
  /// The support test with the dtypes as decided now (workflow 4.5 asks again when it inserts).
  bool isSupported(const QuantMatch &match, const Node &node) const;
  TensorArguments &getTensorArguments() { return tensorArguments; }
  const ObserverSpec &getFloatSpec() const { return floatSpec; }
  const PassContext &getContext() const { return context; }

private:
  void splitOutputs();
  NodeDTypes makeFloat() const;
  NodeDTypes makeQuantized(const Node &node, const QuantMatch &match, const QConfig &qconfig);
  void applyMatchQConfigs();
  void applyNodeFacts(llvm::ArrayRef<int64_t> inputQuantizedIndexes);
  void propagateNonFloat(const Node &node);
  void findWholeModules(const PrepareCustomConfig &custom);
  void inferValueTypes();
  /// The integer or boolean type of a value, null of any other.
  const TensorType *findNonFloatType(const Node &node) const;
  std::optional<SupportFailure> findNonFloatOperand(const QuantMatch &match) const;
  llvm::Error resetUnsupported(bool strictModuleWeights);
  llvm::Error missed(const Node &node, const QConfig &qconfig, Diagnostic why);
  llvm::Error remarkOnUnmatched();
  void declineSilently(const Node &node, std::string message, llvm::StringRef code);
  /// "'conv' not observed: REASON" with a note that names the rule behind the qconfig.
  Diagnostic makeReason(const Node &node, std::string reason, llvm::StringRef code) const;

  GraphModule &model;
  const BackendConfig &backend;
  PassContext &context;
  TensorArguments tensorArguments;
  ObserverSpec floatSpec, halfSpec, quint8Spec;
  std::optional<ObserverSpec> measuredSpec; ///< the global qconfig's activation, unless its parameters are fixed or it is none
  TypeMap types; ///< empty where inference fails
  std::unordered_map<const Node *, ResolvedQConfig> qconfigs;
  std::vector<QuantMatch> matches; ///< anchors from last to first
  llvm::DenseMap<const Node *, size_t> matchOf;
  llvm::DenseMap<const Node *, NodeDTypes> dtypes;
  llvm::DenseMap<const Node *, std::string> reasons;
};

/// "activation quint8, weight qint8".
std::string describeDTypes(const QConfig &qconfig);

/// A PlaceholderObserver of that dtype, the constructor that stands for "this dtype, no statistics".
ObserverSpec makePlaceholderSpec(DType dtype);

} // namespace qfx

#endif // PASSES_PREPARE_DTYPEPLAN_H
