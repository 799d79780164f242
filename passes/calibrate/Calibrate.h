// calibrate: run example data through a prepared model so that its observers see what values occur.
#ifndef PASSES_CALIBRATE_CALIBRATE_H
#define PASSES_CALIBRATE_CALIBRATE_H

#include "passes/Pass.h"

#include "ir/weights/InputSet.h"

namespace qfx {

/// Runs every batch; observers update their buffers in the model, one batch at a time, in order.  Calibrating twice goes on where the
/// first left off, so state can be saved between.  The data is read as needed: memory does not grow with the number of batches.
/// Errors: no batches, an input that a batch lacks or that has another type (with the batch's number), non-finite data that an
/// observer refuses, context.onProgress returning false (`calibrate_cancelled`).
llvm::Error calibrate(GraphModule &model, llvm::ArrayRef<InputBatch> batches, PassContext &context);

} // namespace qfx

#endif // PASSES_CALIBRATE_CALIBRATE_H
