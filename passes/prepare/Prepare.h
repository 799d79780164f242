// The prepare pass: observers where values will be quantized, and the decisions that convert reads later.
#ifndef PASSES_PREPARE_PREPARE_H
#define PASSES_PREPARE_PREPARE_H

#include "backends/config/CustomConfig.h"
#include "backends/config/QConfigMapping.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <vector>

namespace qfx {

class BackendConfig;
class GraphModule;
struct PassContext;

struct PrepareOptions {
  QConfigMapping mapping;
  bool isDefaultMapping = false; ///< made for the backend, not for this model: its rules need not meet anything
  bool isQat = false;
  /// Where input-weight equalization applies (EqualizationConfig.h); an empty mapping: nowhere.
  QConfigMapping equalization;
  /// Standalone and custom modules, quantized inputs and outputs, untraced modules, preserved attributes.
  /// Unset: that of the context.
  std::optional<PrepareCustomConfig> custom;
  std::vector<int64_t> inputQuantizedIndexes;  ///< graph inputs that arrive as quint8; replaces custom's if not empty
  std::vector<int64_t> outputQuantizedIndexes; ///< output values that convert leaves quantized; replaces custom's if not empty
  bool strictModuleWeights =
      false; ///< a module weight outside the backend's bounds makes its pattern unsupported (backend_config 8.4)
};

/// workflow 4 on a fused graph: resolves qconfigs, matches the backend's patterns, decides dtypes and inserts observer
/// calls; the state for convert goes to the model's meta (PreparedState).  The model is changed in place. \returns
/// whether anything was observed.  Errors: unmatched rules and bad indexes (UnmatchedRules.h), disagreeing members of a
/// fused module (`fused_qconfigs`), a model that is prepared already (`prepare_twice`), an equalization config with other
/// observers (`equalization_qconfig`) or for quantization-aware training (`equalization_qat`), those of DTypePlan.h and
/// ObserverInserter.h and Standalone.h; under PassContext::strict every node that falls back to float.
llvm::Expected<bool> prepare(GraphModule &model, const PrepareOptions &options, PassContext &context);

/// Kinds of quantization that have a mapping of their own: `dynamic` (default_dynamic_qconfig everywhere), `weight-only` and
/// `weight-only-4bit` (float-qparams weights of embeddings), `float16` (dynamic) and `float16-static`; nothing for other names.
std::optional<QConfigMapping> getMappingOfKind(llvm::StringRef kind);

/// The mapping used when none is given: for a built-in backend, or a file that extends one, the default mapping of that built-in (workflow 2.2;
/// the symmetric one for executorch, that of `engine` for native); for any other backend the one its dtype configs ask for
/// (deriveQConfigMapping; errors are its).
llvm::Expected<QConfigMapping> getDefaultMappingFor(const BackendConfig &backend, llvm::StringRef engine, bool isQat);

/// `options` with the mapping of `context`, or with getDefaultMappingFor its backend where it has none.
llvm::Expected<PrepareOptions> withMapping(PrepareOptions options, const PassContext &context);

} // namespace qfx

#endif // PASSES_PREPARE_PREPARE_H
