// Does a backend entry allow what a qconfig asks for (workflow 4.4, backend_config 8)?
#ifndef PASSES_PREPARE_BACKENDSUPPORT_H
#define PASSES_PREPARE_BACKENDSUPPORT_H

#include "passes/prepare/DTypePlan.h"
#include "passes/prepare/SupportFailure.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace qfx {

/// Dtypes of a node by lookup; lets the test run before and during insertion.
using DTypeLookup = llvm::function_ref<const NodeDTypes &(const Node &)>;

/// Some DTypeConfig of the entry fits every argument of the root and the output of the anchor.  `qconfig` (may be null)
/// is what constraints are checked against.  `refusals` (may be null) gets the failures of the configs before the one that fits, of all if none
/// does.  \returns null if supported, else the most telling failure.
std::optional<SupportFailure> findSupportFailure(const Match &match, const QConfig *qconfig, DTypeLookup dtypes,
                                                 std::vector<SupportFailure> *refusals = nullptr);

/// 8.3 for one side; null if satisfied.
std::optional<SupportFailure> findConstraintFailure(const QConfig *qconfig, const DTypeWithConstraints &constraints,
                                                    bool isActivation);

} // namespace qfx

#endif // PASSES_PREPARE_BACKENDSUPPORT_H
