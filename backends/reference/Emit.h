// Steps that binding functions of float operators share: conversions, plain elementwise functions, matrix products, views.
#ifndef BACKENDS_REFERENCE_EMIT_H
#define BACKENDS_REFERENCE_EMIT_H

#include "backends/runtime/BindContext.h"
#include "kernels/pointwise/Pointwise.h"

#include "llvm/Support/Error.h"

namespace qfx::runtime {

/// `view` as another dtype (no quantized ones), itself if it has it; laid out like `view` where that is dense.
llvm::Expected<View> castTo(BindContext &context, const View &view, DType dtype);

/// The type that plain kernels compute in: f32 if any operand is floating-point, else i64.  float64 tensors are refused (operators 24.13) unless
/// they are constants of one element.
llvm::Expected<DType> getComputeDType(BindContext &context, llvm::ArrayRef<View> operands);

/// The tensor in a slot, or the number there as a tensor of rank 0 (bool, i64 or f32 by its kind).
llvm::Expected<View> getTensorOrNumber(BindContext &context, llvm::StringRef slot);
/// The number in a slot as a tensor of rank 0 and this dtype, whether it is known before running or not.
llvm::Expected<View> getNumber(BindContext &context, llvm::StringRef slot, DType dtype);
/// f32 values as codes of `type`, whose parameters must be known; laid out like `values` where that is dense.
llvm::Expected<View> quantizeTo(BindContext &context, const View &values, const TensorType &type);
/// Codes, f16 or f32 as f32.
llvm::Expected<View> dequantized(BindContext &context, const View &input);
/// A tensor of rank 0.
View makeScalar(DType dtype, double value);

/// A fresh tensor of `sizes` that the function computes from broadcasting operands; they must have the types that the kind wants (Select: a bool
/// mask and two of one type).  The result has the operands' type, or bool.
View emitPointwise(BindContext &context, kernels::PointwiseKind kind, llvm::ArrayRef<View> operands,
                   llvm::ArrayRef<int64_t> sizes, const kernels::PointwiseParams &params = {});

/// f32 [..., M, K] x [..., K, N] with broadcasting batches, ranks >= 2, into a row-major result of `type`.
View emitMatmul(BindContext &context, const View &a, const View &b, const TensorType &type);

/// Softmax (or its logarithm) of an f32 tensor along the call's `dim`, as the node's dtype.
llvm::Expected<RuntimeValue> emitSoftmax(BindContext &context, const View &input, bool isLog);
/// Sums of integers and bools.
llvm::Expected<RuntimeValue> bindIntegerSum(BindContext &context);

/// A view's type with other sizes.
TensorType withSizes(const View &view, llvm::ArrayRef<int64_t> sizes, std::optional<DType> dtype = std::nullopt);
/// Dimension i of the result is dimension order[i] of `view`.
View permuted(const View &view, llvm::ArrayRef<size_t> order);
/// The same elements in row-major order under other sizes; a copy only if strides do not allow a view.
View reshaped(BindContext &context, const View &view, llvm::ArrayRef<int64_t> sizes);
/// `view` with a stride of 0 where its size is 1 and `sizes` says more, and for new leading dimensions.
View broadcasted(const View &view, llvm::ArrayRef<int64_t> sizes);
/// `part`, a view of `whole`, in the memory of `copy`, which is laid out like `whole`.
View movedTo(const View &part, const View &whole, const View &copy);
/// A dimension from a slot, counted from the end if negative.
llvm::Expected<size_t> getDimSlot(BindContext &context, llvm::StringRef slot, size_t rank);
/// Sizes of the node's result.
llvm::Expected<TensorType> getStaticType(BindContext &context, const ValueType &value);

} // namespace qfx::runtime

#endif // BACKENDS_REFERENCE_EMIT_H
