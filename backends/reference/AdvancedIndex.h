// Indexing, which getitem, setitem and aten.index share.
#ifndef BACKENDS_REFERENCE_ADVANCEDINDEX_H
#define BACKENDS_REFERENCE_ADVANCEDINDEX_H

#include "backends/runtime/BindContext.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <optional>

namespace qfx::runtime {

/// One entry for each leading dimension: an index tensor, or none for a dimension that stays whole.
using IndexEntries = llvm::SmallVector<std::optional<View>, 6>;

/// `view[index]` but for its index tensors: what ints, slices, None and Ellipsis select, and the tensors by dimension of that.  A mask stands
/// at the first of its dimensions.
struct IndexedView {
  View view;
  IndexEntries tensors;
};
/// Errors: an index that is known only when the graph runs, out of range, too many indices.
llvm::Expected<IndexedView> indexView(BindContext &context, const View &view, const Argument &index);

/// A copy of `input` (dense) in which the places `entries` of `place`, a view of it, hold `values` (broadcast to them); of places named twice the
/// last value stays.  Errors as in gatherAdvanced.
llvm::Expected<View> scatterAdvanced(BindContext &context, const View &input, const View &place, IndexEntries entries, const View &values);

/// A fresh row-major tensor table[entries]; index tensors (integers, any rank) broadcast, and their dimensions stand in front unless the tensors
/// stand side by side, as in PyTorch.  Errors: no index tensor, an index of bools, too many dimensions; out of range when it runs.
llvm::Expected<View> gatherAdvanced(BindContext &context, const View &table, IndexEntries entries);

} // namespace qfx::runtime

#endif // BACKENDS_REFERENCE_ADVANCEDINDEX_H
