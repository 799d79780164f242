// Indexing with index tensors, which getitem and aten.index share.
#ifndef BACKENDS_REFERENCE_ADVANCEDINDEX_H
#define BACKENDS_REFERENCE_ADVANCEDINDEX_H

#include "backends/runtime/BindContext.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <optional>

namespace qfx::runtime {

/// One entry for each leading dimension: an index tensor, or none for a dimension that stays whole.
using IndexEntries = llvm::SmallVector<std::optional<View>, 6>;

/// A fresh row-major tensor table[entries]; index tensors (integers, any rank) broadcast, and their dimensions stand in front unless the tensors
/// stand side by side, as in PyTorch.  Errors: no index tensor, an index of bools, too many dimensions; out of range when it runs.
llvm::Expected<View> gatherAdvanced(BindContext &context, const View &table, IndexEntries entries);

} // namespace qfx::runtime

#endif // BACKENDS_REFERENCE_ADVANCEDINDEX_H
