// Observers of input and weight columns, from which convert computes the scales of input-weight equalization.
#ifndef BACKENDS_OBSERVE_EQUALIZATIONOBSERVER_H
#define BACKENDS_OBSERVE_EQUALIZATIONOBSERVER_H

#include "backends/observe/Observer.h"
#include "ir/Module.h"

namespace qfx {

/// Classes of torch/ao/quantization/fx/_equalize.py.
inline constexpr llvm::StringLiteral kInputEqualizationClass("torch.ao.quantization.fx._equalize._InputEqualizationObserver");
inline constexpr llvm::StringLiteral kWeightEqualizationClass("torch.ao.quantization.fx._equalize._WeightEqualizationObserver");

bool isInputEqualizationObserver(const Module &module);
bool isEqualizationObserver(const Module &module); ///< of inputs or of weights

/// Of an equalization observer: its per-channel observer, which has `ch_axis` and the columns' ranges.  Null in a file that lacks it or
/// has something else there.
Module *findColumnObserver(const Module &observer);
/// Looks along another axis than 1 (QFX: a Linear's columns are its input's last axis, whatever the rank).  Before the first batch.
void setColumnAxis(Module &observer, int64_t axis);

/// Sizes [1, .., columns, .., 1] of the last batch; empty before the first.
std::vector<int64_t> getEqualizationShape(const Module &observer);

/// What an input's observer has seen, per column; empty before the first batch.
struct ColumnsSeen {
  std::vector<float> mins, maxs; ///< as many
  int64_t axis = 1;              ///< from the front
  size_t rank = 0;
};
/// Error `observer_state`: a file whose state belongs to no observer of this kind.
llvm::Expected<ColumnsSeen> readColumns(const Module &observer);

// Rows of Observers.def.
llvm::Error constructInputEqualization(Module &observer); ///< an error unless the qscheme is per tensor
llvm::Error constructWeightEqualization(Module &observer);
llvm::Error observeEqualization(Module &observer, const ObservedTensor &input); ///< an error unless the rank is 2 to 5
bool hasEqualizationObserved(const Module &observer);
llvm::Error mergeEqualization(Module &observer, const Module &other);

} // namespace qfx

#endif // BACKENDS_OBSERVE_EQUALIZATIONOBSERVER_H
