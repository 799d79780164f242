// The binding functions of Kernels.def and the rows of elementwise functions.
#ifndef BACKENDS_RUNTIME_KERNELS_H
#define BACKENDS_RUNTIME_KERNELS_H

#include "backends/runtime/BindContext.h"
#include "kernels/elementwise/Unary.h"

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

/// A function with its numbers filled in from a call.
struct BoundFunction {
  kernels::UnaryKind kind;
  kernels::UnaryParams params;
};
llvm::Expected<BoundFunction> bindFunction(BindContext &context, const FunctionRow &row);

#define QFX_KERNEL(Op, Form, bind) llvm::Expected<RuntimeValue> bind(BindContext &context);
#include "backends/runtime/Kernels.def"

llvm::Expected<RuntimeValue> bindFloatFunction(BindContext &context);
llvm::Expected<RuntimeValue> bindCodeFunction(BindContext &context);

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_KERNELS_H
