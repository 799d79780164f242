// Rules of operators that take or place elements by index tensors.
#include "ir/infer/ViewDetail.h"

#include "ir/OpKind.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

namespace {
/// An input, the dimension an index runs along and the index.
struct Indexed {
  TensorType input, index;
  int64_t dim = 0;
};
} // namespace

/// Rule `<op>_index`: int32 or int64 (gather and its kin: int64 in PyTorch; int32 is taken too).
static llvm::Expected<Indexed> getIndexed(const InferContext &context, llvm::StringRef indexSlot) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  QFX_TRY(index, context.getTensor(indexSlot));
  if (index.dtype != DType::Int64 && index.dtype != DType::Int32)
    return context.fail("index", "wants an int64 or int32 index, got {0}", toString(index));
  Indexed result{input, index, 0};
  if (context.hasValue("dim")) {
    QFX_TRY(given, context.getInt("dim"));
    QFX_TRY(dim, wrapDim(context, given, input.getRank()));
    result.dim = dim;
  }
  return result;
}

/// Rule `index_select_rank`: an index of rank 0 or 1.
llvm::Expected<ValueType> inferIndexSelect(const InferContext &context) {
  QFX_TRY(operands, getIndexed(context, "index"));
  if (operands.index.getRank() > 1)
    return context.fail("rank", "wants an index of rank 1, got {0}", toString(operands.index));
  TensorType result = operands.input;
  if (!result.shape.empty())
    result.shape[operands.dim] = multiplyAll(operands.index.shape);
  return ValueType(result);
}

/// Rules `<op>_rank` (one rank) and `<op>_shape` (no index size beyond the input's, except along `dim`).
static llvm::Error checkGather(const InferContext &context, const Indexed &operands) {
  const Shape &input = operands.input.shape, &index = operands.index.shape;
  if (std::max<size_t>(input.size(), 1) != std::max<size_t>(index.size(), 1))
    return context.fail("rank", "wants an index of the input's rank, got {0} and {1}", toString(operands.input),
                        toString(operands.index));
  for (size_t i = 0; i < std::min(input.size(), index.size()); ++i)
    if (static_cast<int64_t>(i) != operands.dim && input[i].isStatic() && index[i].isStatic() &&
        index[i].getValue() > input[i].getValue())
      return context.fail("shape", "wants index sizes within {0} except along dimension {1}, got {2}", toString(input),
                          operands.dim, toString(index));
  return llvm::Error::success();
}

llvm::Expected<ValueType> inferGather(const InferContext &context) {
  QFX_TRY(operands, getIndexed(context, "index"));
  bool isEmpty = llvm::is_contained(operands.index.shape, Dim(0));
  if (!isEmpty)
    if (llvm::Error err = checkGather(context, operands))
      return err;
  TensorType result = operands.input;
  result.shape = operands.index.shape;
  result.format = MemoryFormat::Contiguous;
  return ValueType(result);
}

/// Input and index broadcast except along `dim`; without `dim` both are flat.
llvm::Expected<ValueType> inferTakeAlongDim(const InferContext &context) {
  QFX_TRY(operands, getIndexed(context, "indices"));
  TensorType result = operands.input;
  result.format = MemoryFormat::Contiguous;
  if (!context.hasValue("dim")) {
    result.shape.assign(1, multiplyAll(operands.index.shape));
    return ValueType(result);
  }
  if (operands.input.getRank() != operands.index.getRank())
    return context.fail("rank", "wants indices of the input's rank, got {0} and {1}", toString(operands.input),
                        toString(operands.index));
  Shape input = operands.input.shape, index = operands.index.shape;
  if (!input.empty())
    input[operands.dim] = Dim(1);
  QFX_TRY(shape, broadcastShapes(context, input, index));
  result.shape = shape;
  return ValueType(result);
}

/// aten.index: a list of index tensors or None by dimension, like x[i, :, j].
llvm::Expected<ValueType> inferIndex(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  ValueType value = context.getValue("indices");
  const auto *list = value.getSequence();
  if (!list)
    return context.fail("input", "wants a list of index tensors");
  std::optional<Shape> common;
  int64_t dim = 0, place = 0, last = -1, taken = 0;
  bool isScattered = false;
  TensorType result = input;
  for (const ValueType &one : list->elements) {
    const TensorType *index = one.getTensor();
    if (!index) {
      const Argument *host = one.getHost();
      if (!host || !host->isNone())
        return context.fail("index", "wants index tensors or None");
      ++dim;
      ++taken;
      continue;
    }
    bool isMask = index->dtype == DType::Bool || index->dtype == DType::UInt8;
    if (!isMask && getDTypeInfo(index->dtype).kind != DTypeKind::Integer)
      return context.fail("index", "wants an index tensor of ints or bools, got {0}", toString(*index));
    int64_t count = isMask ? static_cast<int64_t>(index->getRank()) : 1;
    if (dim + count > static_cast<int64_t>(result.getRank()))
      return context.fail("index", "has more indices than the {0} dimensions of the tensor", input.getRank());
    Shape shape = isMask ? Shape{Dim::unknown()} : index->shape;
    if (!common) {
      common = shape;
      place = dim;
    } else {
      QFX_TRY(both, broadcastShapes(context, *common, shape));
      common = both;
      isScattered |= last != dim;
    }
    result.shape.erase(result.shape.begin() + dim, result.shape.begin() + dim + count);
    taken += count;
    last = dim;
  }
  if (taken > static_cast<int64_t>(input.getRank()))
    return context.fail("index", "has more indices than the {0} dimensions of the tensor", input.getRank());
  if (common)
    result.shape.insert(result.shape.begin() + (isScattered ? 0 : place), common->begin(), common->end());
  result.format = MemoryFormat::Contiguous;
  return ValueType(result);
}

/// The input with some elements replaced or added to.  Rule `<op>_dtype`: the placed values have the input's dtype.
llvm::Expected<ValueType> inferPlace(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  OpKind kind = context.getCall().op->kind;
  if (kind == OpKind::IndexPut)
    if (llvm::Expected<ValueType> places = inferIndex(context); !places)
      return places.takeError();
  llvm::StringRef slot = kind == OpKind::IndexPut ? "values" : kind == OpKind::IndexAdd ? "source" : "src";
  if (std::optional<TensorType> values = context.getOptionalTensor(slot); values && values->dtype != input.dtype)
    return context.fail("dtype", "wants '{0}' of the input's dtype, got {1} and {2}", slot, toString(*values),
                        toString(input));
  if (kind == OpKind::Scatter || kind == OpKind::ScatterAdd) {
    QFX_TRY(operands, getIndexed(context, "index"));
    if (!llvm::is_contained(operands.index.shape, Dim(0)))
      if (llvm::Error err = checkGather(context, operands))
        return err;
  } else if (kind == OpKind::IndexAdd) {
    QFX_TRY(operands, getIndexed(context, "index"));
    if (operands.index.getRank() > 1)
      return context.fail("rank", "wants an index of rank 1, got {0}", toString(operands.index));
  }
  return ValueType(input);
}

} // namespace qfx
