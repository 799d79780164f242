// The options of the pass prepare, read from its text in a pipeline.
#ifndef PASSES_PREPARE_PREPAREOPTIONS_H
#define PASSES_PREPARE_PREPAREOPTIONS_H

#include "passes/prepare/Prepare.h"

namespace qfx {

class PassOptions;

/// What the pass `prepare{...}` runs with: its options, and the mapping of `context`, of its kind, or else of the backend.
llvm::Expected<PrepareOptions> getPrepareOptions(const PassOptions &options, const PassContext &context);

} // namespace qfx

#endif // PASSES_PREPARE_PREPAREOPTIONS_H
