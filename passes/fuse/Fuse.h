// The fusion pass: groups of layers that a backend runs as one become one module call.
#ifndef PASSES_FUSE_FUSE_H
#define PASSES_FUSE_FUSE_H

#include "llvm/Support/Error.h"

namespace qfx {

class GraphModule;
struct PassContext;

struct FuseOptions {
  bool isQat = false; ///< the QAT column of the fusers: batch norms are kept, not folded
};

/// workflow 3: rewrites every match of an entry with a fuser into one call that stands where the match ended, named
/// like its root.  The graph is rebuilt as FX does (names reserved afresh, users in list order) and members that
/// nothing reaches are dropped. A root module that is also called outside such matches, or whose tensors a get_attr
/// reads, keeps its path unfused and the fused copy gets a fresh one (`conv_1`): one call never changes another
/// (known_traps B01). \returns whether anything was fused.  Errors: Fusers.h.  Remarks: fused matches, and interior
/// values whose other users prevent one.
llvm::Expected<bool> fuse(GraphModule &model, const FuseOptions &options, PassContext &context);

} // namespace qfx

#endif // PASSES_FUSE_FUSE_H
