// Steps on 8-bit codes that several operators share.
#ifndef BACKENDS_NATIVE_CODESTEPS_H
#define BACKENDS_NATIVE_CODESTEPS_H

#include "backends/runtime/BindContext.h"
#include "backends/runtime/BindHelpers.h"
#include "kernels/elementwise/CodeLut.h"

#include <memory>

namespace qfx::runtime {

struct BoundFunction;

/// Maps every code of `input` through a table; `type` is the result's.
View emitTable(BindContext &context, const View &input, const TensorType &type,
               std::shared_ptr<const kernels::CodeLut> table);

/// min(max(code, low), high).
View emitCodeClamp(BindContext &context, const View &input, const TensorType &type, int32_t low, int32_t high);

/// The table of a function from the input's parameters to the result's, applied to slot `input`.
llvm::Expected<RuntimeValue> emitTableFunction(BindContext &context, const BoundFunction &function);

} // namespace qfx::runtime

#endif // BACKENDS_NATIVE_CODESTEPS_H
