// Standalone modules are prepared by themselves (workflow 4.9).
#ifndef PASSES_PREPARE_STANDALONE_H
#define PASSES_PREPARE_STANDALONE_H

#include "passes/prepare/DTypePlan.h"

namespace qfx {

struct PrepareOptions;

/// Fuses and prepares the graph of every standalone match that has a qconfig, with the entry's mapping (unset: its node's qconfig for
/// everything), custom config and backend (unset: empty, the parent's), and puts the result in its place.  Errors: those of fuse and
/// prepare, and a graph that returns something else than one value (`standalone_output`).
llvm::Error prepareStandaloneModules(GraphModule &model, const DTypePlan &plan, const PrepareOptions &options, PassContext &context);

} // namespace qfx

#endif // PASSES_PREPARE_STANDALONE_H
