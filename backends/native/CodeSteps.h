// Steps on 8-bit codes that several operators share.
#ifndef BACKENDS_NATIVE_CODESTEPS_H
#define BACKENDS_NATIVE_CODESTEPS_H

#include "backends/runtime/BindContext.h"
#include "backends/runtime/BindHelpers.h"
#include "kernels/elementwise/CodeLut.h"
#include "kernels/quantize/Quantize.h"

#include <functional>
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

/// f32 [same sizes and layout, dense] = scale * (code - zeroPoint) by `params`, which need not be the operand's own.
View emitDequantize(BindContext &context, const CodeOperand &operand, const kernels::QParams &params);

/// Floats that a step reworks at a time.
constexpr int64_t kFloatChunk = 1024;

/// Quantizes `values` (dense f32) into `dst` (8-bit codes, same layout) by `output`, after `rework(begin, chunk, n)`
/// has changed a copy of elements [begin, begin + n), n <= kFloatChunk.  \param reads  all that the step reads.
void emitFromFloats(BindContext &context, llvm::ArrayRef<const View *> reads, const View &values, const View &dst,
                    const kernels::QParams &output, std::function<void(int64_t, float *, int64_t)> rework);

} // namespace qfx::runtime

#endif // BACKENDS_NATIVE_CODESTEPS_H
