// The float matrix product behind every spelling that ends in one.
#ifndef BACKENDS_REFERENCE_FLOATMATMUL_H
#define BACKENDS_REFERENCE_FLOATMATMUL_H

#include "backends/runtime/BindContext.h"

namespace qfx::runtime {

/// a x b with PyTorch's rules for vectors and broadcast batches; `type` is the (static, float32) result's.
View emitFloatMatmul(BindContext &context, const View &a, const View &b, const TensorType &type);

} // namespace qfx::runtime

#endif // BACKENDS_REFERENCE_FLOATMATMUL_H
