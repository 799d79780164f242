// Elementwise operators on 32-bit codes (qint32): the rules of operators 3, 6 and 7, one element after the other.
#ifndef BACKENDS_NATIVE_WIDECODES_H
#define BACKENDS_NATIVE_WIDECODES_H

#include "backends/runtime/BindContext.h"
#include "backends/runtime/BindHelpers.h"

namespace qfx::runtime {

struct BoundFunction;
struct FunctionRow;

inline bool hasWideCodes(const View &view) { return view.getDType() == DType::QInt32; }

/// A row of Kernels.def on slot `input`, which holds 32-bit codes: clamps on codes, other functions by VDQ and QZ.
llvm::Expected<RuntimeValue> bindWideFunction(BindContext &context, const FunctionRow &row,
                                              const BoundFunction &function);

/// quantized::add and quantized::mul of two tensors of 32-bit codes, or of one and a number.
llvm::Expected<RuntimeValue> bindWideArithmetic(BindContext &context, bool isAdd, bool relu);

/// PReLU of 32-bit codes in slot `input`, one slope or one per channel (dimension 1): c = max(q - z, 0) * o + min(q - z, 0) * (w - z_w), o the
/// steps of a slope of 1, then requantized (operators 7).
llvm::Expected<RuntimeValue> bindWidePrelu(BindContext &context);

/// f32 = scale * (code - zeroPoint), laid out like `view` (dense).
View emitWideDequantize(BindContext &context, const View &view, const kernels::QParams &params);

/// Codes by `params` as codes by `output`, with relu max(q, zeroPoint) afterwards; `type` is the result's.
View emitWideRequantize(BindContext &context, const View &view, const kernels::QParams &params, const TensorType &type,
                        const kernels::QParams &output, bool relu);

} // namespace qfx::runtime

#endif // BACKENDS_NATIVE_WIDECODES_H
