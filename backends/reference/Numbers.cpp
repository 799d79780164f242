// Python numbers that tensors give (item, tolist), and arithmetic on them: tensors of rank 0 while the graph runs.
#include "backends/reference/Emit.h"
#include "backends/runtime/Kernels.h"
#include "ir/Diagnostics.h"
#include "ir/OpKind.h"
#include "ir/PythonNumbers.h"

namespace qfx::runtime {

namespace {

/// Python's floats are doubles, its ints are int64 here.
DType getNumberDType(DTypeKind kind) {
  return kind == DTypeKind::Float ? DType::Float64 : kind == DTypeKind::Bool ? DType::Bool : DType::Int64;
}

/// The elements of a view as numbers of their kind, in nested sequences.
RuntimeValue nestNumbers(const View &view, size_t rank) {
  if (!rank)
    return RuntimeValue::ofNumber(view);
  std::vector<RuntimeValue> elements;
  for (int64_t i = 0; i < view.sizes[0]; ++i) {
    View part = view;
    part.offset += i * view.strides[0];
    part.sizes.erase(part.sizes.begin());
    part.strides.erase(part.strides.begin());
    part.type.shape.erase(part.type.shape.begin());
    elements.push_back(nestNumbers(part, rank - 1));
  }
  return RuntimeValue::ofSequence(std::move(elements));
}

bool divides(OpKind kind) { return kind == OpKind::Div || kind == OpKind::FloorDiv || kind == OpKind::Remainder; }

/// One step that computes in T; division by zero fails as in Python.
template <class T, class R> void emitNumbers(BindContext &context, OpKind kind, const View &a, const View &b, const View &dst) {
  context.emit({&a, &b}, {&dst}, [kind, a, b, dst, loc = context.getCall().loc](RunContext &run) {
    const T left = *a.getData<T>(), right = *b.getData<T>();
    if (divides(kind) && right == 0)
      return run.fail(error(loc, "divides the number {0} by zero", left).code("run_zero"));
    if constexpr (std::is_same_v<R, bool>)
      *dst.getData<bool>() = compareNumbers(kind, left, right);
    else
      *dst.getData<T>() = computeNumbers(kind, left, right);
  });
}

} // namespace

llvm::Expected<View> getNumber(BindContext &context, llvm::StringRef slot, DType dtype) {
  RuntimeValue value = context.getValue(slot);
  if (value.isNumber())
    return castTo(context, value.view, dtype);
  if (value.kind == RuntimeValue::Kind::Host && value.host.isInt())
    return castTo(context, viewConstant(Tensor::of<int64_t>(DType::Int64, {}, {value.host.getInt()})), dtype);
  if (value.kind == RuntimeValue::Kind::Host && value.host.isNumber())
    return castTo(context, viewConstant(Tensor::of<double>(DType::Float64, {}, {value.host.getNumber()})), dtype);
  return context.fail("operand '{0}' must be a number, got {1}", slot, describe(value));
}

/// A quantized tensor gives its real value.
llvm::Expected<RuntimeValue> bindItem(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  if (input->getNumElements() != 1)
    return context.fail("takes a tensor of one element, got {0}", toString(input->type));
  View one = reshaped(context, *input, {});
  if (isQuantized(one.getDType())) {
    llvm::Expected<View> real = dequantized(context, one);
    if (!real)
      return real.takeError();
    one = *real;
  }
  llvm::Expected<View> number = castTo(context, one, getNumberDType(getDTypeInfo(one.getDType()).kind));
  if (!number)
    return number.takeError();
  return RuntimeValue::ofNumber(*number);
}

llvm::Expected<RuntimeValue> bindToList(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<View> numbers = castTo(context, *input, getNumberDType(getDTypeInfo(input->getDType()).kind));
  if (!numbers)
    return numbers.takeError();
  return nestNumbers(*numbers, numbers->getRank());
}

bool isNumberArithmetic(OpKind op) {
  switch (op) {
  case OpKind::Add:
  case OpKind::Sub:
  case OpKind::Rsub:
  case OpKind::Mul:
  case OpKind::Div:
  case OpKind::FloorDiv:
  case OpKind::Remainder:
  case OpKind::Pow:
  case OpKind::Neg:
  case OpKind::Eq:
  case OpKind::Ne:
  case OpKind::Lt:
  case OpKind::Le:
  case OpKind::Gt:
  case OpKind::Ge:
    return true;
  default:
    return false;
  }
}

/// In double if the result or an operand is a float, else in int64 that wraps around.
llvm::Expected<RuntimeValue> bindNumberArithmetic(BindContext &context) {
  OpKind kind = context.getOp().kind;
  const bool negates = kind == OpKind::Neg;
  llvm::StringRef first = "input", second = kind == OpKind::Pow ? "exponent" : "other";
  if (kind == OpKind::Rsub) {
    std::swap(first, second);
    kind = OpKind::Sub;
  }
  const DTypeKind result = context.getResult().getDataNumber()->kind;
  bool isFloating = result == DTypeKind::Float;
  for (llvm::StringRef slot : {first, second})
    isFloating |= context.getCall().find(slot) && context.attrs().getValue(slot).getNumberKind() == DTypeKind::Float;
  const DType dtype = isFloating ? DType::Float64 : DType::Int64;
  llvm::Expected<View> a = getNumber(context, first, dtype);
  if (!a)
    return a.takeError();
  llvm::Expected<View> b = negates ? castTo(context, makeScalar(DType::Int64, -1), dtype) : getNumber(context, second, dtype);
  if (!b)
    return b.takeError();
  if (negates)
    kind = OpKind::Mul;
  View dst = context.allocate(withSizes(*a, {}, getNumberDType(result)), StorageOrder::RowMajor);
  if (result == DTypeKind::Bool)
    isFloating ? emitNumbers<double, bool>(context, kind, *a, *b, dst) : emitNumbers<int64_t, bool>(context, kind, *a, *b, dst);
  else
    isFloating ? emitNumbers<double, double>(context, kind, *a, *b, dst) : emitNumbers<int64_t, int64_t>(context, kind, *a, *b, dst);
  return RuntimeValue::ofNumber(dst);
}

} // namespace qfx::runtime
