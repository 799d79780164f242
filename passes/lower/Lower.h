// lower: reference patterns become a backend's quantized operators (workflow 6).
#ifndef PASSES_LOWER_LOWER_H
#define PASSES_LOWER_LOWER_H

#include "passes/Pass.h"

namespace qfx {

/// Where the activations of dynamic linear and recurrent layers are measured (operators 11.1).
enum class DynamicRange : uint8_t {
  PerTensor, ///< PyTorch's: one scale and zero point per call
  PerRow,    ///< one per row, so that a row's result does not depend on its neighbours or on padding (known_traps B102)
};

struct LowerOptions {
  DynamicRange dynamic = DynamicRange::PerTensor; ///< kept in the model's meta `dynamic`, which a Program honours
  /// Keep the float weight and bias of each weight that is folded into packed parameters: child `original_weights_lookup.<name>` with
  /// `weight` and `bias`, <name> being the packed attribute's in lower case (workflow 6.7).
  bool keepOriginalWeights = false;
};

/// Rewrites dequantize -> op -> quantize patterns of a reference model by the rows of the lowering table, folds weights into packed
/// parameters and drops the prepared state.  What stays a reference pattern is reported as a remark.  A model that was
/// lowered before (its meta `engine` says so) stays as it is.
llvm::Error lower(GraphModule &model, PassContext &context, const LowerOptions &options = {});

} // namespace qfx

#endif // PASSES_LOWER_LOWER_H
