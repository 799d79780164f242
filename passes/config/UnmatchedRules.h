// Rules of a mapping or custom config that meet nothing in the model.
#ifndef PASSES_CONFIG_UNMATCHEDRULES_H
#define PASSES_CONFIG_UNMATCHEDRULES_H

#include "backends/config/CustomConfig.h"

#include "llvm/Support/Error.h"

namespace qfx {

class GraphModule;
struct PassContext;

/// One error that lists every module_name, regex and order entry that meets no node or module of the graph before
/// fusion, and every object_type key that neither the target table nor the model's classes know, each with the nearest
/// names (rule `unmatched_rule`). Under PassContext::allowUnmatched the same texts are warnings.  A name entry on a
/// member that fusion absorbed gets a remark.
llvm::Error checkMappingRules(const QConfigMapping &mapping, const GraphModule &model, const PassContext &context);

/// The same for names, classes and preserved attributes of a custom config.
llvm::Error checkCustomRules(const PrepareCustomConfig &custom, const GraphModule &model, const PassContext &context);

/// Indices of graph inputs or output values: each at least 0, below `count` and named once; otherwise rule
/// `quantized_index`. `what` completes "input_quantized_idxs: ...".
llvm::Error checkIndexes(llvm::StringRef what, llvm::ArrayRef<int64_t> indexes, size_t count);

} // namespace qfx

#endif // PASSES_CONFIG_UNMATCHEDRULES_H
