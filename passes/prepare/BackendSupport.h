// Does a backend entry allow what a qconfig asks for (workflow 4.4, backend_config 8)?
#ifndef PASSES_PREPARE_BACKENDSUPPORT_H
#define PASSES_PREPARE_BACKENDSUPPORT_H

#include "passes/prepare/DTypePlan.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace qfx {

/// Why an entry refuses.
struct SupportFailure {
  std::string reason;        ///< "activation dtype 'qint8' matches no dtype_config of 'torch.nn.Conv2d'"
  llvm::StringRef code;      ///< qconfig_dtype or qconfig_constraint
  bool isConstraint = false; ///< the dtype fits, a bound does not
};

/// Dtypes of a node by lookup; lets the test run before and during insertion.
using DTypeLookup = llvm::function_ref<const NodeDTypes &(const Node &)>;

/// Some DTypeConfig of the entry fits every argument of the root and the output of the anchor.  `qconfig` (may be null)
/// is what constraints are checked against.  \returns null if supported.
std::optional<SupportFailure> findSupportFailure(const Match &match, const QConfig *qconfig, DTypeLookup dtypes);

/// 8.3 for one side; null if satisfied.
std::optional<SupportFailure> findConstraintFailure(const QConfig *qconfig, const DTypeWithConstraints &constraints,
                                                    bool isActivation);

} // namespace qfx

#endif // PASSES_PREPARE_BACKENDSUPPORT_H
