// The binding functions of Kernels.def and the rows of elementwise functions.
#ifndef BACKENDS_RUNTIME_KERNELS_H
#define BACKENDS_RUNTIME_KERNELS_H

#include "backends/runtime/BindContext.h"
#include "kernels/elementwise/Unary.h"
#include "kernels/pointwise/Pointwise.h"
#include "kernels/rowwise/Rowwise.h"

namespace qfx::runtime {

/// How a function of floats acts on codes (operators.md 7).
enum class CodeRule : uint8_t { None, Table, Clamp };

/// One QFX_FUNCTION_KERNEL row.
struct FunctionRow {
  OpKind op;
  kernels::UnaryKind kind;
  CodeRule codeRule;
  llvm::StringRef params[3];
};

/// Null if the operator is no such function.
const FunctionRow *findFunctionRow(OpKind op);

/// One QFX_POINTWISE_KERNEL row: a plain function and the slots of its operands, in its order.
struct PointwiseRow {
  OpKind op;
  kernels::PointwiseKind kind;
  llvm::StringRef slots;
};

/// One QFX_ROWWISE_KERNEL row.
struct RowwiseRow {
  OpKind op;
  kernels::RowwiseKind kind;
};

/// Null if the operator has no such row.
const PointwiseRow *findPointwiseRow(OpKind op);
const RowwiseRow *findRowwiseRow(OpKind op);

/// A function with its numbers filled in from a call.
struct BoundFunction {
  kernels::UnaryKind kind;
  kernels::UnaryParams params;
};
llvm::Expected<BoundFunction> bindFunction(BindContext &context, const FunctionRow &row);

/// A QFX_HALF_KERNEL row: the kernel reads float16 and bfloat16 itself, since it rounds between operations.
bool readsHalfItself(OpKind op);

#define QFX_KERNEL(Op, Form, bind) llvm::Expected<RuntimeValue> bind(BindContext &context);
#include "backends/runtime/Kernels.def"

llvm::Expected<RuntimeValue> bindFloatFunction(BindContext &context);
/// Arithmetic and comparison of numbers of which one is known only when the graph runs.
bool isNumberArithmetic(OpKind op);
llvm::Expected<RuntimeValue> bindNumberArithmetic(BindContext &context);
llvm::Expected<RuntimeValue> bindIntegerFunction(BindContext &context);
llvm::Expected<RuntimeValue> bindPointwise(BindContext &context);
llvm::Expected<RuntimeValue> bindPlainDiv(BindContext &context);
llvm::Expected<RuntimeValue> bindPlainClamp(BindContext &context);
llvm::Expected<RuntimeValue> bindRowwise(BindContext &context);
llvm::Expected<RuntimeValue> bindCodeFunction(BindContext &context);

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_KERNELS_H
