// Quantization parameters from smallest and largest values (numerics 2.3, 2.4); private to observe/.
#ifndef BACKENDS_OBSERVE_CALCULATEQPARAMSDETAIL_H
#define BACKENDS_OBSERVE_CALCULATEQPARAMSDETAIL_H

#include "backends/observe/Observer.h"
#include "backends/observe/ObserverSettings.h"
#include "ir/Location.h"

namespace qfx {

/// One scale and zero point per element of `mins` and `maxs`, all in float32.  Statistics that saw nothing (empty, or +inf and -inf) give
/// scale 1, zero point 0; NaN and infinities come out as PyTorch's (2.5).
/// Errors: a smallest value above the largest, at `loc`.
llvm::Expected<QParams> calculateFromRange(const Location &loc, const ObserverSettings &settings, float eps,
                                           llvm::ArrayRef<float> mins, llvm::ArrayRef<float> maxs);

} // namespace qfx

#endif // BACKENDS_OBSERVE_CALCULATEQPARAMSDETAIL_H
