// Brings the dimensions that a reduction runs over together.
#ifndef BACKENDS_REFERENCE_REDUCE_H
#define BACKENDS_REFERENCE_REDUCE_H

#include "backends/runtime/BindContext.h"

namespace qfx::runtime {

/// A dense tensor seen as [outer, reduced, inner]; the result of a reduction is [outer, inner], row-major
/// with or without the reduced dimensions as 1.
struct ReductionView {
  View src;
  int64_t outer = 1, reduced = 1, inner = 1;
  Sizes keptSizes;        ///< kept dimensions in the input's order
  bool innermost = false; ///< the reduced dimensions are the last ones of the logical order
};

/// Reads `dim` (None or empty: all) and arranges `input`, copying it only if its storage has the dimensions apart.
llvm::Expected<ReductionView> arrangeReduction(BindContext &context, const View &input);

} // namespace qfx::runtime

#endif // BACKENDS_REFERENCE_REDUCE_H
