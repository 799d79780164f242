// merge-calibration: one calibration out of two that each ran over a part of the data.
#ifndef PASSES_CALIBRATE_MERGECALIBRATION_H
#define PASSES_CALIBRATE_MERGECALIBRATION_H

#include "ir/GraphModule.h"

#include "llvm/Support/Error.h"

namespace qfx {

/// Merges every observer of `other` into the observer at the same path of `model`; what the result is, mergeObserver says.
/// Errors: an observer that only one of the models has (`merge_observer`), those of mergeObserver, which name the observer.  After an error
/// `model` is unchanged.
llvm::Error mergeCalibration(GraphModule &model, const GraphModule &other);

} // namespace qfx

#endif // PASSES_CALIBRATE_MERGECALIBRATION_H
