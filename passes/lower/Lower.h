// lower: reference patterns become a backend's quantized operators (workflow 6).
#ifndef PASSES_LOWER_LOWER_H
#define PASSES_LOWER_LOWER_H

#include "passes/Pass.h"

namespace qfx {

/// Rewrites dequantize -> op -> quantize patterns of a reference model by the rows of the lowering table, folds weights into packed
/// parameters and drops the prepared state.  What stays a reference pattern is reported as a remark.
llvm::Error lower(GraphModule &model, PassContext &context);

} // namespace qfx

#endif // PASSES_LOWER_LOWER_H
