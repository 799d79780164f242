// calibrate: run example data through a prepared model so that its observers see what values occur.
#ifndef PASSES_CALIBRATE_CALIBRATE_H
#define PASSES_CALIBRATE_CALIBRATE_H

#include "passes/Pass.h"

#include "ir/weights/InputSet.h"

#include <functional>
#include <optional>

namespace qfx {

/// Runs every batch; observers update their buffers in the model, one batch at a time, in order.  Calibrating twice goes on where the
/// first left off, so state can be saved between.  The data is read as needed: memory does not grow with the number of batches.
/// Warns of infinities and NaN (`calibrate_nonfinite`) and of values of very different range that a cat joins (`calibrate_ranges`).
/// Errors: no batches, an input that a batch lacks or that has another type (with the batch's number), non-finite data that an
/// observer refuses, context.onProgress returning false (`calibrate_cancelled`), context.isCancelled (`cancelled`, as in every pass).
llvm::Error calibrate(GraphModule &model, llvm::ArrayRef<InputBatch> batches, PassContext &context);

/// The next batch, or nothing at the end.
using BatchSource = std::function<llvm::Expected<std::optional<InputBatch>>()>;

/// The same with batches that are made as they are needed; the total given to context.onProgress is 0 (unknown).
llvm::Error calibrate(GraphModule &model, const BatchSource &source, PassContext &context);

} // namespace qfx

#endif // PASSES_CALIBRATE_CALIBRATE_H
