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
llvm::Error constructFakeQuantize(Module &observer); ///< the child activation_post_process is already there
llvm::Error constructFused(Module &observer);
llvm::Error constructFixedFakeQuantize(Module &observer);

llvm::Error observeNothing(Module &observer, const ObservedTensor &input);
llvm::Error observeMinMax(Module &observer, const ObservedTensor &input);
llvm::Error observeMovingAverage(Module &observer, const ObservedTensor &input);
llvm::Error observePerChannel(Module &observer, const ObservedTensor &input);
llvm::Error observeMovingAveragePerChannel(Module &observer, const ObservedTensor &input);
llvm::Error observeHistogram(Module &observer, const ObservedTensor &input);
llvm::Error observeFakeQuantize(Module &observer, const ObservedTensor &input);
llvm::Error observeFused(Module &observer, const ObservedTensor &input);

llvm::Expected<QParams> calculateFromMinMax(const Module &observer);
llvm::Expected<QParams> calculateFromHistogram(const Module &observer);
llvm::Expected<QParams> calculateFixed(const Module &observer);
llvm::Expected<QParams> calculateRefused(const Module &observer);
llvm::Expected<QParams> calculateOfInner(const Module &observer);

bool hasMinMax(const Module &observer); ///< min_val and max_val left their initial values
bool hasInnerObserved(const Module &observer);
bool needsNoData(const Module &observer);

} // namespace qfx

#endif // BACKENDS_OBSERVE_OBSERVERROWSDETAIL_H
