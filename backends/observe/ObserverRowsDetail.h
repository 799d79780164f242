// The functions that the rows of Observers.def name; private to observe/.
#ifndef BACKENDS_OBSERVE_OBSERVERROWSDETAIL_H
#define BACKENDS_OBSERVE_OBSERVERROWSDETAIL_H

#include "backends/observe/Observer.h"

namespace qfx {

// Constructors: check the attributes as PyTorch's __init__ does and set the initial buffers.
llvm::Error constructNothing(Module &observer);
llvm::Error constructMinMax(Module &observer);
llvm::Error constructMovingAverage(Module &observer);
llvm::Error constructPerChannel(Module &observer);
llvm::Error constructHistogram(Module &observer);
llvm::Error constructFixed(Module &observer);
llvm::Error constructGrid(Module &observer);
llvm::Error constructPercentile(Module &observer);
llvm::Error constructAffineMinMax(Module &observer);
llvm::Error constructAffinePlaceholder(Module &observer);
llvm::Error constructAffineFixed(Module &observer);
llvm::Error constructFakeQuantize(Module &observer); ///< the child activation_post_process is already there
llvm::Error constructFused(Module &observer);
llvm::Error constructFixedFakeQuantize(Module &observer);

llvm::Error observeNothing(Module &observer, const ObservedTensor &input);
llvm::Error observeMinMax(Module &observer, const ObservedTensor &input);
llvm::Error observeMovingAverage(Module &observer, const ObservedTensor &input);
llvm::Error observePerChannel(Module &observer, const ObservedTensor &input);
llvm::Error observeMovingAveragePerChannel(Module &observer, const ObservedTensor &input);
llvm::Error observeHistogram(Module &observer, const ObservedTensor &input);
llvm::Error observeGrid(Module &observer, const ObservedTensor &input);
llvm::Error observeAffineMinMax(Module &observer, const ObservedTensor &input);
llvm::Error observeAffineMovingAverage(Module &observer, const ObservedTensor &input);
llvm::Error observeAffinePlaceholder(Module &observer, const ObservedTensor &input); ///< the block size only
llvm::Error observeRecording(Module &observer, const ObservedTensor &input);
llvm::Error observeFakeQuantize(Module &observer, const ObservedTensor &input);
llvm::Error observeFused(Module &observer, const ObservedTensor &input);

llvm::Expected<QParams> calculateFromMinMax(const Module &observer);
llvm::Expected<QParams> calculateFromHistogram(const Module &observer);
llvm::Expected<QParams> calculateFromPercentile(const Module &observer);
llvm::Expected<QParams> calculateFromEntropy(const Module &observer);
llvm::Expected<QParams> calculateFromSquaredError(const Module &observer);
llvm::Expected<QParams> calculateAffine(const Module &observer);
llvm::Expected<QParams> calculateFixed(const Module &observer);
llvm::Expected<QParams> calculateRefused(const Module &observer);
llvm::Expected<QParams> calculateOfInner(const Module &observer);

bool hasMinMax(const Module &observer); ///< min_val and max_val left their initial values
bool hasAffineObserved(const Module &observer);
bool hasInnerObserved(const Module &observer);
bool needsNoData(const Module &observer);

/// Child of fake-quantizers: the observer inside.
inline constexpr llvm::StringLiteral kInnerObserver = "activation_post_process";
/// Child with the counts of getNonFiniteCounts: a container, so that the state dict has no more keys than PyTorch's.
inline constexpr llvm::StringLiteral kNonFinite = "non_finite";

/// Adds to the module's counts if the range that its observer left in `tensor` shows that there is something to count.
void countNonFinite(Module &observer, const ObservedTensor &tensor);

// Both have seen data and have the same class and arguments.
llvm::Error mergeNothing(Module &observer, const Module &other);
llvm::Error mergeOrdered(Module &observer, const Module &other); ///< an error: the result depends on the order
llvm::Error mergeMinMax(Module &observer, const Module &other);
llvm::Error mergeHistogram(Module &observer, const Module &other);
llvm::Error mergeGrid(Module &observer, const Module &other);
llvm::Error mergeAffineBlocks(Module &observer, const Module &other); ///< block size and dtype, of whoever saw data
llvm::Error mergeRecording(Module &observer, const Module &other);
llvm::Error mergeFakeQuantize(Module &observer, const Module &other);

} // namespace qfx

#endif // BACKENDS_OBSERVE_OBSERVERROWSDETAIL_H
