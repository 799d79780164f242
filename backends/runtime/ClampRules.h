// Which operators are a clamp of a float, so that the operator before can do it on the way out.
#ifndef BACKENDS_RUNTIME_CLAMPRULES_H
#define BACKENDS_RUNTIME_CLAMPRULES_H

#include "backends/runtime/BindContext.h"

#include <optional>

namespace qfx::runtime {

/// The range to which `user` clamps its operand `input`, if that is all it does (relu, relu6, hardtanh; in place or
/// not).
std::optional<ClampRange> getClampRange(const Node &user, const Node *input, const GraphModule &model);

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_CLAMPRULES_H
