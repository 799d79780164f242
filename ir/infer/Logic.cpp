// Rules of elementwise operators that give bools, work on bits, or take three operands.
#include "ir/InferDetail.h"
#include "ir/OpKind.h"

namespace qfx {

/// A bool tensor of the input's shape.
llvm::Expected<ValueType> inferPredicate(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  input.dtype = DType::Bool;
  return ValueType(input);
}

/// Rule `<op>_dtype`: integers and bools only.
static llvm::Error checkIntegral(const InferContext &context, const TensorType &type) {
  if (!isFloat(type.dtype) && !isQuantized(type.dtype))
    return llvm::Error::success();
  return context.fail("dtype", "wants integer or bool tensors, got {0}", toString(type));
}

llvm::Expected<ValueType> inferBitwiseNot(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkIntegral(context, input))
    return err;
  return ValueType(input);
}

/// One operand of a promoting operator: a tensor, or a number by its kind.  Rule `<op>_input` for anything else.
static llvm::Error addOperand(const InferContext &context, llvm::StringRef slot, ResultType &dtype, Shape &shape) {
  ValueType value = context.getValue(slot);
  if (const TensorType *tensor = value.getTensor()) {
    if (llvm::Error err = checkNotQuantized(context, *tensor, slot))
      return err;
    dtype.addTensor(*tensor);
    auto common = broadcastShapes(context, shape, tensor->shape);
    if (!common)
      return common.takeError();
    shape = *common;
    return llvm::Error::success();
  }
  std::optional<DTypeKind> number = value.getNumberKind();
  if (!number)
    return context.fail("input", "wants a tensor or a number for '{0}'", slot);
  dtype.addNumber(*number);
  return llvm::Error::success();
}

/// Host bools and ints stay host values when known; tensors promote.
llvm::Expected<ValueType> inferBitwise(const InferContext &context) {
  ValueType left = context.getValue("input"), right = context.getValue("other");
  if (!left.getTensor() && !right.getTensor()) {
    std::optional<Argument> a = left.getConstant(), b = right.getConstant();
    if (!a || !b || !(a->isBool() || a->isInt()) || !(b->isBool() || b->isInt()))
      return ValueType();
    int64_t x = static_cast<int64_t>(a->getNumber()), y = static_cast<int64_t>(b->getNumber());
    OpKind kind = context.getCall().op->kind;
    int64_t bits = kind == OpKind::BitwiseAnd ? x & y : kind == OpKind::BitwiseOr ? x | y : x ^ y;
    return a->isBool() && b->isBool() ? ValueType::host(bits != 0) : ValueType(Dim(bits));
  }
  TensorType result;
  ResultType dtype;
  for (llvm::StringRef slot : {"input", "other"})
    if (llvm::Error err = addOperand(context, slot, dtype, result.shape))
      return err;
  result.dtype = dtype.get();
  if (llvm::Error err = checkIntegral(context, result))
    return err;
  return ValueType(result);
}

/// Rule `where_condition`: bool.
llvm::Expected<ValueType> inferWhere(const InferContext &context) {
  QFX_TRY(condition, context.getTensor("condition"));
  if (condition.dtype != DType::Bool)
    return context.fail("condition", "wants a bool condition, got {0}", toString(condition));
  TensorType result;
  result.shape = condition.shape;
  ResultType dtype;
  for (llvm::StringRef slot : {"input", "other"})
    if (llvm::Error err = addOperand(context, slot, dtype, result.shape))
      return err;
  result.dtype = dtype.get();
  return ValueType(result);
}

/// addcmul, addcdiv, lerp.  Rule `<op>_dtype`: lerp and addcdiv want floating-point tensors, lerp of one dtype.
llvm::Expected<ValueType> inferTernary(const InferContext &context) {
  OpKind kind = context.getCall().op->kind;
  bool isLerp = kind == OpKind::Lerp;
  TensorType result;
  ResultType dtype;
  llvm::SmallVector<llvm::StringRef, 3> slots{"input", isLerp ? "end" : "tensor1", isLerp ? "weight" : "tensor2"};
  for (llvm::StringRef slot : slots) {
    if (llvm::Error err = addOperand(context, slot, dtype, result.shape))
      return err;
    std::optional<TensorType> tensor = context.getOptionalTensor(slot), first = context.getOptionalTensor("input");
    if (isLerp && tensor && first && tensor->dtype != first->dtype)
      return context.fail("dtype", "wants tensors of one dtype, got {0} and {1}", toString(*first), toString(*tensor));
  }
  result.dtype = dtype.get();
  if ((isLerp || kind == OpKind::Addcdiv) && !isFloat(result.dtype))
    return context.fail("dtype", "wants floating-point tensors, got {0}", toString(result));
  return ValueType(result);
}

} // namespace qfx
