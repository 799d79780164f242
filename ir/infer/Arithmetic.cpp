// Rules of arithmetic and comparison: tensors broadcast and promote, host numbers compute.
#include "ir/InferDetail.h"
#include "ir/OpKind.h"
#include "ir/PythonNumbers.h"

namespace qfx {

static int64_t floorDivide(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

/// Dim op Dim; unknown if the result is no `factor * symbol`.  The divisor is not 0.
static Dim computeDim(OpKind kind, const Dim &a, const Dim &b) {
  switch (kind) {
  case OpKind::Add:
    return addDims(a, b);
  case OpKind::Sub:
    return addDims(a, multiplyDims(b, Dim(-1)));
  case OpKind::Mul:
    return multiplyDims(a, b);
  case OpKind::FloorDiv:
    if (b == Dim(-1)) // the least int64 has no negative
      return multiplyDims(a, b);
    return a.isStatic() && b.isStatic() ? Dim(floorDivide(a.getValue(), b.getValue())) : a.dividedBy(b);
  case OpKind::Remainder:
    if (b == Dim(-1))
      return Dim(0);
    if (a.isStatic() && b.isStatic()) {
      int64_t rest = a.getValue() % b.getValue(); // of the dividend's sign
      return Dim(rest != 0 && (rest < 0) != (b.getValue() < 0) ? rest + b.getValue() : rest);
    }
    return a.dividedBy(b).isUnknown() ? Dim::unknown() : Dim(0);
  case OpKind::Fmod:
    if (b == Dim(-1))
      return Dim(0);
    return a.isStatic() && b.isStatic() ? Dim(a.getValue() % b.getValue()) : Dim::unknown();
  default:
    return Dim::unknown();
  }
}

/// Integer power by squaring; unknown on overflow or a negative exponent.
static Dim computePower(const Dim &base, const Dim &exponent) {
  if (!base.isStatic() || !exponent.isStatic() || exponent.getValue() < 0 || exponent.getValue() > 64)
    return Dim::unknown();
  Dim result(1);
  for (int64_t i = 0; i < exponent.getValue(); ++i)
    result = multiplyDims(result, base);
  return result;
}

/// Ints of either kind as a Dim.
static std::optional<Dim> asDim(const ValueType &value) {
  if (const Dim *dim = value.getDim())
    return *dim;
  const Argument *host = value.getHost();
  if (host && host->isBool())
    return Dim(host->getBool() ? 1 : 0);
  return std::nullopt;
}

/// Python's kinds: true division gives a float, other arithmetic an int unless an operand is a float.  Rule `pow_exponent`: an int's power
/// is an int or a float by the exponent's sign, which must be known.
static llvm::Expected<ValueType> computeDataNumber(const InferContext &context, OpKind kind, const ValueType &a, const ValueType &b) {
  if (kind == OpKind::Div || a.getNumberKind() == DTypeKind::Float || b.getNumberKind() == DTypeKind::Float)
    return ValueType(DataNumber{DTypeKind::Float});
  std::optional<Argument> exponent = b.getConstant();
  if (kind == OpKind::Pow && !exponent)
    return context.fail("exponent", "wants a known exponent of an int, got one that is known only when the graph runs");
  return ValueType(DataNumber{kind == OpKind::Pow && exponent->getNumber() < 0 ? DTypeKind::Float : DTypeKind::Integer});
}

/// Rule `<op>_zero`: no division by zero on host numbers.
static llvm::Expected<ValueType> computeHost(const InferContext &context, const ValueType &left, const ValueType &right) {
  OpKind kind = context.getCall().op->kind;
  const ValueType &a = kind == OpKind::Rsub ? right : left, &b = kind == OpKind::Rsub ? left : right;
  if (kind == OpKind::Rsub)
    kind = OpKind::Sub;
  std::optional<Dim> leftInt = asDim(a), rightInt = asDim(b);
  bool divides = kind == OpKind::Div || kind == OpKind::FloorDiv || kind == OpKind::Remainder ||
                 kind == OpKind::Fmod;
  std::optional<Argument> leftNumber = a.getConstant(), rightNumber = b.getConstant();
  if (divides && rightNumber && rightNumber->getNumber() == 0)
    return context.fail("zero", "divides by zero");
  if (a.getDataNumber() || b.getDataNumber())
    return computeDataNumber(context, kind, a, b);
  if (leftInt && rightInt && kind != OpKind::Div)
    return ValueType(kind == OpKind::Pow ? computePower(*leftInt, *rightInt) : computeDim(kind, *leftInt, *rightInt));
  if (!leftNumber || !rightNumber)
    return ValueType();
  return ValueType::host(computeNumbers(kind, leftNumber->getNumber(), rightNumber->getNumber()));
}

/// Python's tuple + tuple and list + list.
static std::optional<ValueType> concatenate(OpKind kind, const ValueType &left, const ValueType &right) {
  const auto *a = left.getSequence(), *b = right.getSequence();
  if (kind != OpKind::Add || !a || !b || a->kind != b->kind)
    return std::nullopt;
  std::vector<ValueType> elements = a->elements;
  elements.insert(elements.end(), b->elements.begin(), b->elements.end());
  return ValueType::sequence(a->kind, std::move(elements));
}

/// The broadcast result of two operands, at least one a tensor.
static llvm::Expected<TensorType> broadcastOperands(const InferContext &context, const ValueType &left,
                                                    const ValueType &right) {
  TensorType result;
  ResultType dtype;
  const TensorType *first = nullptr;
  for (const ValueType *operand : {&left, &right}) {
    if (const TensorType *tensor = operand->getTensor()) {
      if (llvm::Error err = checkNotQuantized(context, *tensor, operand == &left ? "input" : "other"))
        return err;
      dtype.addTensor(*tensor);
      QFX_TRY(shape, broadcastShapes(context, result.shape, tensor->shape));
      result.shape = shape;
      if (!first || tensor->getRank() > first->getRank())
        first = tensor;
    } else if (std::optional<DTypeKind> number = operand->getNumberKind()) {
      dtype.addNumber(*number);
    } else {
      return context.fail("input", "wants tensors or numbers");
    }
  }
  result.dtype = dtype.get();
  result.format = fitFormat(first->format, result.getRank());
  return result;
}

/// Both operands under the names the operator has for them.
static std::pair<ValueType, ValueType> getOperands(const InferContext &context) {
  bool isPower = context.getCall().op->kind == OpKind::Pow;
  return {context.getValue("input"), context.getValue(isPower ? "exponent" : "other")};
}

llvm::Expected<ValueType> inferArithmetic(const InferContext &context) {
  auto [left, right] = getOperands(context);
  if (left.getNumberKind() && right.getNumberKind())
    return computeHost(context, left, right);
  if (std::optional<ValueType> joined = concatenate(context.getCall().op->kind, left, right))
    return *joined;
  if (!left.getTensor() && !right.getTensor())
    return context.fail("input", "wants tensors or numbers");
  QFX_TRY(result, broadcastOperands(context, left, right));
  return ValueType(result);
}

/// True division of integers gives float32; with a rounding mode they stay integers.
llvm::Expected<ValueType> inferDiv(const InferContext &context) {
  QFX_TRY(result, inferArithmetic(context));
  const TensorType *type = result.getTensor();
  if (!type || isFloat(type->dtype) || context.hasValue("rounding_mode"))
    return result;
  TensorType real = *type;
  real.dtype = DType::Float32;
  return ValueType(real);
}

llvm::Expected<ValueType> inferPow(const InferContext &context) { return inferArithmetic(context); }

/// Tensors only (torch.maximum).
llvm::Expected<ValueType> inferTensorBinary(const InferContext &context) {
  for (llvm::StringRef slot : {"input", "other"}) {
    auto tensor = context.getTensor(slot);
    if (!tensor)
      return tensor.takeError();
  }
  return inferArithmetic(context);
}

/// Tensors only, with a floating-point result (torch.atan2).
llvm::Expected<ValueType> inferFloatBinary(const InferContext &context) {
  QFX_TRY(result, inferTensorBinary(context));
  TensorType real = *result.getTensor();
  if (!isFloat(real.dtype))
    real.dtype = DType::Float32;
  return ValueType(real);
}

/// Tensors give bool tensors (quantized ones compare by value, operators 12), host values a host bool.
llvm::Expected<ValueType> inferCompare(const InferContext &context) {
  auto [left, right] = getOperands(context);
  OpKind kind = context.getCall().op->kind;
  if (!left.getTensor() && !right.getTensor()) {
    if (left.getNumberKind() && right.getNumberKind() && (left.getDataNumber() || right.getDataNumber()))
      return ValueType(DataNumber{DTypeKind::Bool});
    std::optional<Argument> a = left.getConstant(), b = right.getConstant();
    if (!a || !b)
      return ValueType();
    if (a->isNumber() && b->isNumber())
      return ValueType::host(compareNumbers(kind, a->getNumber(), b->getNumber()));
    if (kind == OpKind::Eq || kind == OpKind::Ne)
      return ValueType::host((*a == *b) == (kind == OpKind::Eq));
    return context.fail("input", "cannot order {0} and {1}", toString(*a, ArgumentStyle::Qfx),
                        toString(*b, ArgumentStyle::Qfx));
  }
  const TensorType *a = left.getTensor(), *b = right.getTensor();
  auto isCodes = [](const TensorType *type) { return type && isQuantized(type->dtype); };
  for (const TensorType *operand : {a, b})
    if (operand && (isCodes(a) || isCodes(b)) && !isCodes(operand) && operand->dtype != DType::Float32)
      return context.fail("dtype", "compares a quantized tensor with quantized and float32 ones, got {0}", toString(*operand));
  auto withoutQuantizer = [](ValueType value) -> ValueType {
    const TensorType *type = value.getTensor();
    if (!type || !isQuantized(type->dtype))
      return value;
    TensorType real = *type;
    real.dtype = DType::Float32;
    real.quantizer = nullptr;
    return real;
  };
  QFX_TRY(result, broadcastOperands(context, withoutQuantizer(left), withoutQuantizer(right)));
  result.dtype = DType::Bool;
  return ValueType(result);
}

} // namespace qfx
