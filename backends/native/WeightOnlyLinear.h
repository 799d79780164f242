// Linear layers with 8- or 4-bit weights and float arithmetic.
#ifndef BACKENDS_NATIVE_WEIGHTONLYLINEAR_H
#define BACKENDS_NATIVE_WEIGHTONLYLINEAR_H

#include "backends/runtime/BindContext.h"

namespace qfx::runtime {

/// Of a call with the slots of ReferenceLinear whose weight is integer codes (ir/ops/reference.def says how they are
/// kept).
llvm::Expected<RuntimeValue> emitWeightOnlyLinear(BindContext &context);

} // namespace qfx::runtime

#endif // BACKENDS_NATIVE_WEIGHTONLYLINEAR_H
