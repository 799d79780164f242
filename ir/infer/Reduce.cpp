// Rules of reductions.
#include "ir/InferDetail.h"

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

} // namespace qfx
