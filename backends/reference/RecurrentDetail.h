// What recurrent layers and cells share: results, initial states, workspace.
#ifndef BACKENDS_REFERENCE_RECURRENTDETAIL_H
#define BACKENDS_REFERENCE_RECURRENTDETAIL_H

#include "backends/runtime/BindContext.h"
#include "backends/runtime/MemoryPlan.h"

namespace qfx::runtime {

/// Fresh tensors for what a call yields; the nest is that of the inferred type.
struct RecurrentResult {
  View output;       ///< empty for cells
  View hidden, cell; ///< cell: empty unless LSTM
  bool isFlat = false;
  View lengths; ///< of a packed sequence: the output is one too

  RuntimeValue toValue() const;
};
llvm::Expected<RecurrentResult> allocateResult(BindContext &context, bool hasCell);

/// The states a call starts with: those of `hx`, or zeros.
struct InitialStates {
  View hidden, cell; ///< empty: zeros

  void appendTo(llvm::SmallVectorImpl<const View *> &reads) const;
  /// Writes the states to the results, where the steps update them.
  void copyTo(const View &hiddenTo, const View &cellTo) const;
};
llvm::Expected<InitialStates> getInitialStates(BindContext &context, bool hasCell);

/// {"data": ..., "lengths": ...}, as pack_padded_sequence gives it.
RuntimeValue makePackedSequence(const View &data, const View &lengths);

/// Memory of a step's own.
View allocateBytes(BindContext &context, int64_t sizeBytes);

/// Least number of rows of this many hidden units worth a thread of its own.
inline int64_t getCellGrain(int64_t hidden) { return std::max<int64_t>(1, 4096 / std::max<int64_t>(hidden, 1)); }

} // namespace qfx::runtime

#endif // BACKENDS_REFERENCE_RECURRENTDETAIL_H
