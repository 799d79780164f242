// The float linear layer behind every spelling that ends in one.
#ifndef BACKENDS_REFERENCE_FLOATLINEAR_H
#define BACKENDS_REFERENCE_FLOATLINEAR_H

#include "backends/runtime/BindContext.h"

namespace qfx::runtime {

/// input [..., K] x weight f32 [N, K]^T + bias f32 [N] (null tensor: none); takes in a clamp that follows.
/// \param relu  the operator ends in a relu of its own.
llvm::Expected<RuntimeValue> emitFloatLinear(BindContext &context, const View &input, const Tensor &weight,
                                             const Tensor &bias, bool relu = false);

} // namespace qfx::runtime

#endif // BACKENDS_REFERENCE_FLOATLINEAR_H
