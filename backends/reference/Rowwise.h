// Reductions, running sums and order along dimensions of a tensor that a binding function has prepared.
#ifndef BACKENDS_REFERENCE_ROWWISE_H
#define BACKENDS_REFERENCE_ROWWISE_H

#include "backends/runtime/BindContext.h"
#include "kernels/rowwise/Rowwise.h"

namespace qfx::runtime {

/// What the rows leave: both results with the reduced dimensions gone, or replaced by one of the results' length.
struct RowResults {
  View first, second;
};

/// Runs `kind` over the dimensions that the call names.
/// \param input  f32 or i64, whichever the kind has a form for.
/// Errors: no element to choose among.
llvm::Expected<RowResults> computeRows(BindContext &context, kernels::RowwiseKind kind, const View &input);

} // namespace qfx::runtime

#endif // BACKENDS_REFERENCE_ROWWISE_H
