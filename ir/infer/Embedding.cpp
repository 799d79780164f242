// Rules of table lookups.
#include "ir/infer/LinearDetail.h"

namespace qfx {

static llvm::Expected<TensorType> getIndices(const InferContext &context, const TensorType &weight) {
  auto indices = context.getTensor("input");
  if (!indices)
    return indices.takeError();
  if (indices->dtype != DType::Int32 && indices->dtype != DType::Int64)
    return context.fail("indices", "wants int32 or int64 indices, got {0}", toString(*indices));
  if (weight.getRank() != 2)
    return context.fail("rank", "wants a weight of rank 2, got {0}", toString(weight.shape));
  return indices;
}

llvm::Expected<TensorType> inferLookupShape(const InferContext &context, const TensorType &weight, DType dtype) {
  QFX_TRY(indices, getIndices(context, weight));
  TensorType result;
  result.dtype = dtype;
  result.shape = indices.shape;
  result.shape.push_back(weight.shape[1]);
  return result;
}

llvm::Expected<TensorType> inferBagShape(const InferContext &context, const TensorType &weight, DType dtype) {
  QFX_TRY(indices, getIndices(context, weight));
  std::optional<TensorType> offsets = context.getOptionalTensor("offsets");
  QFX_TRY(hasEnd, context.getBool("include_last_offset"));
  TensorType result;
  result.dtype = dtype;
  if (indices.getRank() == 2) {
    if (offsets)
      return context.fail("offsets", "takes no offsets with indices of rank 2");
    result.shape.push_back(indices.shape[0]);
  } else if (indices.getRank() == 1) {
    if (!offsets || offsets->getRank() != 1)
      return context.fail("offsets", "wants offsets of rank 1 with indices of rank 1");
    const Dim &count = offsets->shape[0];
    if (hasEnd && count == Dim(0))
      return context.fail("offsets", "wants at least one offset with include_last_offset");
    result.shape.push_back(hasEnd ? addDims(count, Dim(-1)) : count);
  } else {
    return context.fail("indices", "wants indices of rank 1 or 2, got {0}", toString(indices));
  }
  result.shape.push_back(weight.shape[1]);
  return result;
}

/// Rule `<op>_padding_idx`: a row of the table, counted from the end if negative.
static llvm::Error checkPaddingIndex(const InferContext &context, const TensorType &weight) {
  if (!context.hasValue("padding_idx") || weight.getRank() != 2 || !weight.shape[0].isStatic())
    return llvm::Error::success();
  auto index = context.getInt("padding_idx");
  if (!index)
    return index.takeError();
  int64_t rows = weight.shape[0].getValue();
  if (*index < -rows || *index >= rows)
    return context.fail("padding_idx", "wants padding_idx in {0}..{1}, got {2}", -rows, rows - 1, *index);
  return llvm::Error::success();
}

llvm::Expected<ValueType> inferEmbedding(const InferContext &context) {
  QFX_TRY(weight, context.getTensor("weight"));
  if (llvm::Error err = checkNotQuantized(context, weight, "weight"))
    return err;
  if (llvm::Error err = checkPaddingIndex(context, weight))
    return err;
  QFX_TRY(result, inferLookupShape(context, weight, weight.dtype));
  return ValueType(result);
}

/// Rule `embedding_bag_mode`: sum, mean or max; per-sample weights only with sum.
llvm::Expected<ValueType> inferEmbeddingBag(const InferContext &context) {
  QFX_TRY(weight, context.getTensor("weight"));
  if (llvm::Error err = checkNotQuantized(context, weight, "weight"))
    return err;
  if (llvm::Error err = checkPaddingIndex(context, weight))
    return err;
  const Argument &mode = context.getCall().get("mode").arg;
  if (!mode.isString() || (mode.getString() != "sum" && mode.getString() != "mean" && mode.getString() != "max"))
    return context.fail("mode", "wants mode 'sum', 'mean' or 'max', got {0}", toString(mode, ArgumentStyle::Qfx));
  if (context.hasValue("per_sample_weights") && mode.getString() != "sum")
    return context.fail("mode", "takes per_sample_weights only with mode 'sum', got '{0}'", mode.getString());
  QFX_TRY(result, inferBagShape(context, weight, weight.dtype));
  return ValueType(result);
}

} // namespace qfx
