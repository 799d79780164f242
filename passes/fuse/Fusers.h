// Building the fused module of one match.
#ifndef PASSES_FUSE_FUSERS_H
#define PASSES_FUSE_FUSERS_H

#include "ir/Module.h"
#include "passes/config/Matcher.h"

#include "llvm/Support/Error.h"

namespace qfx {

/// One member of a match: the module it calls, or the module made of the function it calls (torch.nn.functional.relu ->
/// a ReLU in the root's mode), or null where the operator stays a function (the addition of conv + add).
struct FusionMember {
  Node *node = nullptr;
  ModuleRef module;
};

/// The operators of the match in Match::nodes order.  The root must call a module (`fusion_root`).
llvm::Expected<std::vector<FusionMember>> collectMembers(const Match &match, const GraphModule &model);

/// Runs the entry's fuser (backend_config 9.2, 9.3): folds a batch norm (PTQ) or keeps it (QAT), then wraps root and
/// followers into the fused class.  The model is not changed; the root module is copied where its tensors change.
/// Errors: members in different modes or a fold in training mode (`fuse_mode`), a QAT form that does not exist
/// (`fuse_qat`), batch norm requirements of QAT (`fuse_qat_bn`), children the fused class does not take (`fuse_class`),
/// and those of foldBatchNorm.
llvm::Expected<ModuleRef> runFuser(const Match &match, const std::vector<FusionMember> &members, bool isQat);

} // namespace qfx

#endif // PASSES_FUSE_FUSERS_H
