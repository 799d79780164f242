// Rules of reductions.
#include "ir/InferDetail.h"
#include "ir/OpKind.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

/// The dimensions in slot `dim`; None or an empty list: all.
static llvm::Expected<llvm::SmallVector<int64_t, 4>> getReducedDims(const InferContext &context, size_t rank) {
  llvm::SmallVector<int64_t, 4> dims;
  if (context.hasValue("dim")) {
    auto given = context.getInts("dim");
    if (!given)
      return given.takeError();
    dims = *given;
  }
  return wrapDims(context, dims, rank, /*emptyMeansAll=*/true);
}

static llvm::Expected<TensorType> reduce(const InferContext &context, TensorType input) {
  QFX_TRY(dims, getReducedDims(context, input.getRank()));
  QFX_TRY(keep, context.getBool("keepdim"));
  Shape shape;
  for (size_t i = 0; i < input.shape.size(); ++i) {
    if (!llvm::is_contained(dims, static_cast<int64_t>(i)))
      shape.push_back(input.shape[i]);
    else if (keep)
      shape.push_back(Dim(1));
  }
  input.shape = shape;
  input.format = fitFormat(input.format, shape.size());
  return input;
}

static std::optional<DType> getDTypeArgument(const InferContext &context) {
  ValueType value = context.getValue("dtype");
  const Argument *dtype = value.getHost();
  return dtype && dtype->isDType() ? std::optional<DType>(dtype->getDType()) : std::nullopt;
}

/// Rule `mean_dtype`: a floating-point input or dtype; a quantized input keeps its own (operators 8.5).
llvm::Expected<ValueType> inferMean(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  std::optional<DType> dtype = getDTypeArgument(context);
  if (isQuantized(input.dtype)) {
    if (llvm::Error err = checkNotPerChannel(context, input))
      return err;
    if (dtype && *dtype != input.dtype)
      return context.fail("dtype", "of a quantized tensor keeps its dtype {0}, got {1}",
                          getDTypeInfo(input.dtype).torchName, getDTypeInfo(*dtype).torchName);
  } else {
    input.dtype = dtype.value_or(input.dtype);
    if (!isFloat(input.dtype))
      return context.fail("dtype", "wants a floating-point tensor or dtype, got {0}", toString(input));
  }
  QFX_TRY(result, reduce(context, input));
  return ValueType(result);
}

/// Integers and bools add up to int64.
llvm::Expected<ValueType> inferSum(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  input.dtype = getDTypeArgument(context).value_or(isFloat(input.dtype) ? input.dtype : DType::Int64);
  QFX_TRY(result, reduce(context, input));
  return ValueType(result);
}

llvm::Expected<ValueType> inferAmax(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  QFX_TRY(result, reduce(context, input));
  return ValueType(result);
}

llvm::Expected<ValueType> inferArgmax(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  input.dtype = DType::Int64;
  QFX_TRY(result, reduce(context, input));
  return ValueType(result);
}

/// Rule `<op>_quantized`, then the reduced shape with that dtype.
static llvm::Expected<ValueType> reduceTo(const InferContext &context, std::optional<DType> dtype) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  input.dtype = dtype.value_or(input.dtype);
  QFX_TRY(result, reduce(context, input));
  return ValueType(result);
}

/// uint8 stays uint8, as in PyTorch.
llvm::Expected<ValueType> inferAny(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  return reduceTo(context, input.dtype == DType::UInt8 ? DType::UInt8 : DType::Bool);
}

llvm::Expected<ValueType> inferCountNonzero(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  QFX_TRY(dims, getReducedDims(context, input.getRank()));
  TensorType result;
  result.dtype = DType::Int64;
  for (size_t i = 0; i < input.shape.size(); ++i)
    if (!llvm::is_contained(dims, static_cast<int64_t>(i)))
      result.shape.push_back(input.shape[i]);
  return ValueType(result);
}

/// Values and indices along one dimension.
static ValueType withIndices(TensorType values) {
  values.format = MemoryFormat::Contiguous;
  TensorType indices = values;
  indices.dtype = DType::Int64;
  indices.quantizer = nullptr;
  return ValueType::sequence(Argument::Kind::Tuple, {ValueType(values), ValueType(indices)});
}

/// Host numbers, two tensors, one dimension, or the whole tensor.  Rule `max_input`.
llvm::Expected<ValueType> inferExtreme(const InferContext &context) {
  ValueType left = context.getValue("input"), right = context.getValue("dim");
  if (!left.getTensor()) {
    std::optional<Argument> a = left.getConstant(), b = right.getConstant();
    if (!a || !b || !a->isNumber() || !b->isNumber())
      return context.fail("input", "wants a tensor or two known numbers");
    bool takesLeft = (a->getNumber() >= b->getNumber()) == (context.getCall().op->kind == OpKind::Max);
    return takesLeft ? left : right;
  }
  TensorType input = *left.getTensor();
  if (const TensorType *other = right.getTensor()) {
    for (const TensorType *operand : {static_cast<const TensorType *>(&input), other})
      if (llvm::Error err = checkNotQuantized(context, *operand, "input"))
        return err;
    QFX_TRY(shape, broadcastShapes(context, input.shape, other->shape));
    ResultType dtype;
    dtype.addTensor(input);
    dtype.addTensor(*other);
    input.shape = shape;
    input.dtype = dtype.get();
    input.format = fitFormat(input.format, shape.size());
    return ValueType(input);
  }
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  if (context.hasValue("dim")) {
    QFX_TRY(result, reduce(context, input));
    return withIndices(result);
  }
  input.shape.clear();
  input.format = MemoryFormat::Contiguous;
  return ValueType(input);
}

/// std and var: of all elements if `dim` is left out, or a bool (the old order of arguments: unbiased); std keeps a quantized input's
/// parameters (operators 8.5).  Rule `<op>_dtype`: floats.
llvm::Expected<ValueType> inferMoment(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  OpKind kind = context.getCall().op->kind;
  if (llvm::Error err = kind == OpKind::Std ? checkNotPerChannel(context, input)
                                            : checkNotQuantized(context, input, "input"))
    return err;
  if (!isFloat(input.dtype) && !isQuantized(input.dtype))
    return context.fail("dtype", "wants a floating-point tensor, got {0}", toString(input));
  ValueType given = context.getValue("dim");
  const Argument *dim = given.getHost();
  TensorType result = input;
  if (dim && dim->isBool()) {
    result.shape.clear();
  } else {
    QFX_TRY(reduced, reduce(context, input));
    result = reduced;
  }
  result.format = MemoryFormat::Contiguous;
  if (kind == OpKind::Std || kind == OpKind::Var)
    return ValueType(result);
  return ValueType::sequence(Argument::Kind::Tuple, {ValueType(result), ValueType(result)});
}

/// Rule `norm_p`: a number, inf, -inf or 'fro'; `norm_dtype`: floats.
llvm::Expected<ValueType> inferNorm(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  input.dtype = getDTypeArgument(context).value_or(input.dtype);
  if (!isFloat(input.dtype))
    return context.fail("dtype", "wants a floating-point tensor or dtype, got {0}", toString(input));
  std::optional<Argument> p = context.getValue("p").getConstant();
  if (!p || !(p->isNumber() || (p->isString() && p->getString() == "fro")))
    return context.fail("p", "wants a number or 'fro' for 'p'");
  QFX_TRY(result, reduce(context, input));
  return ValueType(result);
}

llvm::Expected<ValueType> inferLogSumExp(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  return reduceTo(context, isFloat(input.dtype) ? input.dtype : DType::Float32);
}

/// The input and its wrapped dimension.
static llvm::Expected<TensorType> getAlongDim(const InferContext &context) {
  auto input = context.getTensor("input");
  if (!input)
    return input.takeError();
  QFX_TRY(given, context.getInt("dim"));
  QFX_TRY(dim, wrapDim(context, given, input->getRank()));
  (void)dim;
  return input;
}

/// Integers and bools run on in int64.
llvm::Expected<ValueType> inferCumulative(const InferContext &context) {
  QFX_TRY(input, getAlongDim(context));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  input.dtype = getDTypeArgument(context).value_or(isFloat(input.dtype) ? input.dtype : DType::Int64);
  return ValueType(input);
}

llvm::Expected<ValueType> inferSort(const InferContext &context) {
  QFX_TRY(input, getAlongDim(context));
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  return withIndices(input);
}

llvm::Expected<ValueType> inferArgsort(const InferContext &context) {
  QFX_TRY(input, getAlongDim(context));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  input.dtype = DType::Int64;
  return ValueType(input);
}

/// Rule `topk_k`: 0 <= k <= the dimension's size.
llvm::Expected<ValueType> inferTopk(const InferContext &context) {
  QFX_TRY(input, getAlongDim(context));
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  QFX_TRY(k, context.getInt("k"));
  if (input.shape.empty()) {
    if (k != 1)
      return context.fail("k", "wants k = 1 for a scalar, got {0}", k);
    return withIndices(input);
  }
  QFX_TRY(given, context.getInt("dim"));
  QFX_TRY(dim, wrapDim(context, given, input.getRank()));
  Dim &size = input.shape[dim];
  if (k < 0 || (size.isStatic() && k > size.getValue()))
    return context.fail("k", "wants k in 0..{0}, got {1}", size, k);
  size = Dim(k);
  return withIndices(input);
}

} // namespace qfx
