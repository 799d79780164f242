// Rules of operators that take parts of a tensor.
#include "ir/SequenceSlice.h"
#include "ir/infer/ViewDetail.h"

namespace qfx {

/// Elements start, start + step, ... (count of them) along `dim`.
static TensorType takeRange(const TensorType &input, int64_t dim, int64_t start, int64_t count, int64_t step) {
  TensorType result = input;
  result.shape[dim] = Dim(count);
  result.quantizer = sliceQuantizer(input.quantizer, dim, start, count, step);
  return result;
}

/// The input and a wrapped dimension of it.  Rule `<op>_rank`: not a scalar.
static llvm::Expected<std::pair<TensorType, int64_t>> getTensorAndDim(const InferContext &context) {
  auto input = context.getTensor("input");
  if (!input)
    return input.takeError();
  QFX_TRY(given, context.getInt("dim"));
  QFX_TRY(dim, wrapDim(context, given, input->getRank()));
  if (input->shape.empty())
    return context.fail("rank", "wants a tensor of rank >= 1, got a scalar");
  return std::pair<TensorType, int64_t>(*input, dim);
}

/// Pieces of these sizes in order, as FX's tuple.
static ValueType cut(const TensorType &input, int64_t dim, llvm::ArrayRef<int64_t> sizes) {
  std::vector<ValueType> pieces;
  int64_t start = 0;
  for (int64_t size : sizes) {
    pieces.push_back(takeRange(input, dim, start, size, 1));
    start += size;
  }
  return ValueType::sequence(Argument::Kind::Tuple, std::move(pieces));
}

/// At most this many pieces: a wrong size must not fill the memory.
static constexpr int64_t kMaxPieces = 1 << 20;

/// Pieces of `size`, the last one shorter; an empty dimension gives one empty piece.
static llvm::Expected<ValueType> cutEvenly(const InferContext &context, const TensorType &input, int64_t dim, int64_t size) {
  int64_t left = input.shape[dim].getValue();
  if (left && left / size > kMaxPieces)
    return context.fail("size", "would give more than {0} pieces of {1}", kMaxPieces, left);
  llvm::SmallVector<int64_t, 8> sizes;
  do {
    sizes.push_back(std::min(size, left));
    left -= sizes.back();
  } while (left > 0);
  return cut(input, dim, sizes);
}

/// Rule `chunk_chunks`: at least one.  Along a symbolic dimension the pieces are unknown.
llvm::Expected<ValueType> inferChunk(const InferContext &context) {
  QFX_TRY(operand, getTensorAndDim(context));
  auto &[input, dim] = operand;
  QFX_TRY(chunks, context.getInt("chunks"));
  if (chunks < 1)
    return context.fail("chunks", "wants at least one chunk, got {0}", chunks);
  const Dim &size = input.shape[dim];
  if (!size.isStatic())
    return ValueType();
  int64_t length = size.getValue() / chunks + (size.getValue() % chunks != 0);
  if (length)
    return cutEvenly(context, input, dim, length);
  // An empty dimension gives as many empty chunks as were asked for.
  if (chunks > kMaxPieces)
    return context.fail("chunks", "would give more than {0} pieces", kMaxPieces);
  return cut(input, dim, llvm::SmallVector<int64_t, 8>(static_cast<size_t>(chunks), 0));
}

/// Rule `split_size`: one size > 0 (0 only of an empty dimension), or sizes that sum up to the dimension.
llvm::Expected<ValueType> inferSplit(const InferContext &context) {
  QFX_TRY(operand, getTensorAndDim(context));
  auto &[input, dim] = operand;
  const Dim &size = input.shape[dim];
  bool isList = context.getValue("split_size").getSequence();
  QFX_TRY(sizes, context.getInts("split_size"));
  for (int64_t one : sizes)
    if (one < 0 || (!isList && one == 0 && size != Dim(0)))
      return context.fail("size", "wants sizes > 0, got {0}", one);
  if (!isList) {
    if (!size.isStatic())
      return ValueType();
    return cutEvenly(context, input, dim, std::max<int64_t>(sizes[0], 1));
  }
  Dim sum(0);
  for (int64_t one : sizes)
    sum = addDims(sum, Dim(one));
  if (!size.mayEqual(sum))
    return context.fail("size", "wants sizes that sum up to {0}, got {1}", size, sum);
  return cut(input, dim, sizes);
}

static TensorType dropDim(const TensorType &input, int64_t dim, int64_t index) {
  TensorType result = input;
  result.shape.erase(result.shape.begin() + dim);
  result.quantizer = selectQuantizer(input.quantizer, dim, index);
  result.format = MemoryFormat::Contiguous;
  return result;
}

llvm::Expected<ValueType> inferUnbind(const InferContext &context) {
  QFX_TRY(operand, getTensorAndDim(context));
  auto &[input, dim] = operand;
  const Dim &size = input.shape[dim];
  if (!size.isStatic())
    return ValueType();
  if (size.getValue() > kMaxPieces)
    return context.fail("size", "would give {0} pieces, more than {1}", size, kMaxPieces);
  std::vector<ValueType> pieces;
  for (int64_t i = 0; i < size.getValue(); ++i)
    pieces.push_back(dropDim(input, dim, i));
  return ValueType::sequence(Argument::Kind::Tuple, std::move(pieces));
}

/// Rule `narrow_range`: start (from the end if negative) and length inside the dimension.
llvm::Expected<ValueType> inferNarrow(const InferContext &context) {
  QFX_TRY(operand, getTensorAndDim(context));
  auto &[input, dim] = operand;
  QFX_TRY(start, context.getInt("start"));
  QFX_TRY(length, context.getInt("length"));
  const Dim &size = input.shape[dim];
  if (length < 0)
    return context.fail("range", "wants length >= 0, got {0}", length);
  if (size.isStatic()) {
    int64_t limit = size.getValue();
    if (start < 0)
      start += limit;
    if (start < 0 || start > limit || length > limit - start)
      return context.fail("range", "wants a range inside 0..{0}, got start {1} and length {2}", limit, start, length);
  }
  return ValueType(takeRange(input, dim, start, length, 1));
}

/// Rule `select_index`: inside the dimension, from the end if negative.
static llvm::Expected<TensorType> selectOne(const InferContext &context, const TensorType &input, int64_t dim,
                                            int64_t index) {
  const Dim &size = input.shape[dim];
  if (size.isStatic() && (index < -size.getValue() || index >= size.getValue()))
    return context.fail("index", "has no index {0} in dimension {1} of size {2}", index, dim, size);
  if (size.isStatic() && index < 0)
    index += size.getValue();
  return dropDim(input, dim, index);
}

llvm::Expected<ValueType> inferSelect(const InferContext &context) {
  QFX_TRY(operand, getTensorAndDim(context));
  QFX_TRY(index, context.getInt("index"));
  QFX_TRY(result, selectOne(context, operand.first, operand.second, index));
  return ValueType(result);
}

/// Python's slice of a dimension: bounds clamp.  Rule `<op>_step`: step > 0.  A symbolic dimension survives a whole slice; a symbolic
/// bound leaves the dimension unknown.
static llvm::Expected<TensorType> sliceOne(const InferContext &context, const TensorType &input, int64_t dim,
                                           const std::optional<Dim> &start, const std::optional<Dim> &stop, int64_t step) {
  if (step < 1)
    return context.fail("step", "wants a step > 0, got {0}", step);
  const Dim &size = input.shape[dim];
  auto isKnown = [](const std::optional<Dim> &bound) { return !bound || bound->isStatic(); };
  if (!size.isStatic() || !isKnown(start) || !isKnown(stop)) {
    TensorType result = input;
    bool reachesEnd = !stop || *stop == Dim(INT64_MAX) || (*stop == size && !size.isUnknown());
    if ((!start || *start == Dim(0)) && reachesEnd && step == 1)
      return result;
    result.shape[dim] = Dim::unknown();
    if (input.quantizer && !input.quantizer->isPerTensor() && input.quantizer->getAxis() == dim)
      result.quantizer = nullptr; // which channels are left is known only at run time
    return result;
  }
  int64_t limit = size.getValue();
  auto clamp = [limit](int64_t bound) { return std::clamp(bound < 0 ? bound + limit : bound, int64_t(0), limit); };
  int64_t from = start ? clamp(start->getValue()) : 0, to = stop ? clamp(stop->getValue()) : limit;
  int64_t count = to > from ? (to - from - 1) / step + 1 : 0;
  return takeRange(input, dim, from, count, step);
}

/// A bound as written, or the size that it is; none if left out.
static llvm::Expected<std::optional<Dim>> getBound(const InferContext &context, llvm::StringRef slot) {
  if (!context.hasValue(slot))
    return std::optional<Dim>();
  ValueType value = context.getValue(slot);
  if (const Dim *size = value.getDim())
    return std::optional<Dim>(*size);
  QFX_TRY(bound, context.getInt(slot));
  return std::optional<Dim>(bound);
}

llvm::Expected<ValueType> inferSlice(const InferContext &context) {
  QFX_TRY(operand, getTensorAndDim(context));
  QFX_TRY(start, getBound(context, "start"));
  QFX_TRY(stop, getBound(context, "end"));
  QFX_TRY(step, context.getInt("step"));
  QFX_TRY(result, sliceOne(context, operand.first, operand.second, start, stop, step));
  return ValueType(result);
}

//===----------------------------------------------------------------------===//
// getitem
//===----------------------------------------------------------------------===//

/// Rule `get_item_index`: an int inside the sequence, or a slice of it.
static llvm::Expected<ValueType> indexSequence(const InferContext &context, const ValueType::Sequence &sequence,
                                               const ValueType &index) {
  int64_t size = static_cast<int64_t>(sequence.elements.size());
  std::optional<Argument> constant = index.getConstant();
  if (constant && constant->isInt()) {
    int64_t i = constant->getInt();
    if (i < -size || i >= size)
      return context.fail("index", "has no index {0} in a sequence of {1}", i, size);
    return sequence.elements[static_cast<size_t>(i < 0 ? i + size : i)];
  }
  if (constant && constant->getKind() == Argument::Kind::Slice) {
    const Argument &step = constant->getElements()[2];
    if (step.isInt() && step.getInt() < 1)
      return context.fail("step", "wants a step > 0, got {0}", step.getInt());
    std::vector<ValueType> elements;
    for (size_t i : getSlicedPositions(*constant, size))
      elements.push_back(sequence.elements[i]);
    return ValueType::sequence(sequence.kind, std::move(elements));
  }
  return context.fail("index", "wants an int or a slice as index of a sequence");
}

namespace {
/// Applies one index after the other to the dimensions of a tensor.
struct TensorIndexer {
  TensorIndexer(const InferContext &context, TensorType input) : context(context), type(std::move(input)) {}

  const InferContext &context;
  TensorType type;
  int64_t dim = 0;       ///< the next dimension to be indexed
  int64_t numTaken = 0;  ///< dimensions of the input used so far
  /// Index tensors: their common shape and where it goes (after all: in front unless they stand side by side).
  std::optional<Shape> indexShape;
  int64_t indexPlace = 0, lastIndexDim = -1;
  bool isScattered = false;

  llvm::Error apply(const ValueType &index);
  llvm::Error applyTensor(const TensorType &index);
  llvm::Error checkLeft(int64_t wanted) {
    if (dim + wanted <= static_cast<int64_t>(type.getRank()))
      return llvm::Error::success();
    return context.fail("index", "has more indices than the {0} dimensions of the tensor", numTaken + wanted - 1);
  }
};
} // namespace

llvm::Error TensorIndexer::applyTensor(const TensorType &index) {
  if (llvm::Error err = checkNotPerChannel(context, type))
    return err;
  bool isMask = index.dtype == DType::Bool || index.dtype == DType::UInt8;
  if (!isMask && getDTypeInfo(index.dtype).kind != DTypeKind::Integer)
    return context.fail("index", "wants an index tensor of ints or bools, got {0}", toString(index));
  int64_t numDims = isMask ? static_cast<int64_t>(index.getRank()) : 1;
  if (llvm::Error err = checkLeft(numDims))
    return err;
  Shape shape = isMask ? Shape{Dim::unknown()} : index.shape;
  if (!indexShape) {
    indexShape = shape;
    indexPlace = dim;
  } else {
    auto common = broadcastShapes(context, *indexShape, shape);
    if (!common)
      return common.takeError();
    indexShape = *common;
    isScattered |= lastIndexDim != dim;
  }
  type.shape.erase(type.shape.begin() + dim, type.shape.begin() + dim + numDims);
  numTaken += numDims;
  lastIndexDim = dim;
  return llvm::Error::success();
}

llvm::Error TensorIndexer::apply(const ValueType &index) {
  if (const TensorType *tensor = index.getTensor())
    return applyTensor(*tensor);
  if (const Dim *number = index.getDim()) {
    if (llvm::Error err = checkLeft(1))
      return err;
    auto selected = selectOne(context, type, dim, number->isStatic() ? number->getValue() : 0);
    if (!selected)
      return selected.takeError();
    type = *selected;
    ++numTaken;
    return llvm::Error::success();
  }
  if (index.getDataNumber())
    return context.fail("index", "wants indices that are known before the graph runs, got a number that data decides");
  const Argument *host = index.getHost();
  if (host && host->isNone()) {
    type.shape.insert(type.shape.begin() + dim, Dim(1));
    type.quantizer = shiftAxis(type.quantizer, {dim}, 1);
    type.format = MemoryFormat::Contiguous;
    ++dim;
    return llvm::Error::success();
  }
  if (!host || host->getKind() != Argument::Kind::Slice)
    return context.fail("index", "wants ints, slices, None, Ellipsis, tensors or lists of ints as indices");
  if (llvm::Error err = checkLeft(1))
    return err;
  auto bound = [&](size_t k) -> std::optional<Dim> {
    const Argument &given = host->getElements()[k];
    return given.isInt() ? std::optional<Dim>(given.getInt()) : std::nullopt;
  };
  auto sliced = sliceOne(context, type, dim, bound(0), bound(1), bound(2).value_or(Dim(1)).getValue());
  if (!sliced)
    return sliced.takeError();
  type = *sliced;
  ++dim;
  ++numTaken;
  return llvm::Error::success();
}

static bool isEllipsis(const ValueType &index) {
  const Argument *host = index.getHost();
  return host && host->getKind() == Argument::Kind::Ellipsis;
}

/// How many of the tensor's dimensions an index uses up.
static int64_t countUsedDims(const ValueType &index) {
  if (const TensorType *tensor = index.getTensor())
    return tensor->dtype == DType::Bool ? static_cast<int64_t>(tensor->getRank()) : 1;
  const Argument *host = index.getHost();
  return host && (host->isNone() || isEllipsis(index)) ? 0 : 1;
}

/// x[:, [2, 1, 0]]: a list of ints is a tensor of them.
static ValueType asIndexTensor(const ValueType &index) {
  const auto *list = index.getSequence();
  if (!list || list->kind != Argument::Kind::List || list->elements.empty() ||
      !llvm::all_of(list->elements, [](const ValueType &element) { return element.getDim() && element.getDim()->isStatic(); }))
    return index;
  TensorType type;
  type.dtype = DType::Int64;
  type.shape = {Dim(static_cast<int64_t>(list->elements.size()))};
  return ValueType(type);
}

llvm::Expected<TensorType> indexTensor(const InferContext &context, const TensorType &input, const ValueType &index) {
  llvm::SmallVector<ValueType, 4> indices{index};
  if (const auto *sequence = index.getSequence(); sequence && sequence->kind == Argument::Kind::Tuple)
    indices.assign(sequence->elements.begin(), sequence->elements.end());
  for (ValueType &one : indices)
    one = asIndexTensor(one);
  TensorIndexer indexer(context, input);
  int64_t used = 0;
  for (const ValueType &one : indices)
    used += countUsedDims(one);
  bool hasEllipsis = false;
  for (const ValueType &one : indices) {
    if (isEllipsis(one)) {
      if (hasEllipsis)
        return context.fail("index", "takes one Ellipsis only");
      hasEllipsis = true;
      int64_t skipped = static_cast<int64_t>(input.getRank()) - used;
      if (skipped < 0)
        return context.fail("index", "has more indices than the {0} dimensions of the tensor", input.getRank());
      indexer.dim += skipped;
      indexer.numTaken += skipped;
      continue;
    }
    if (llvm::Error err = indexer.apply(one))
      return err;
  }
  TensorType result = indexer.type;
  if (indexer.indexShape) {
    int64_t place = indexer.isScattered ? 0 : indexer.indexPlace;
    result.shape.insert(result.shape.begin() + place, indexer.indexShape->begin(), indexer.indexShape->end());
    result.format = MemoryFormat::Contiguous;
  }
  result.format = fitFormat(result.format, result.getRank());
  return result;
}

/// Rules `get_item_input` (a tensor, sequence or dict), `get_item_index`, `get_item_step`.
llvm::Expected<ValueType> inferGetItem(const InferContext &context) {
  ValueType input = context.getValue("input"), index = context.getValue("index");
  if (const auto *sequence = input.getSequence())
    return indexSequence(context, *sequence, index);
  if (const TensorType *tensor = input.getTensor()) {
    QFX_TRY(part, indexTensor(context, *tensor, index));
    return ValueType(part);
  }
  const auto *dict = input.getDictionary();
  if (!dict)
    return context.fail("input", "wants a tensor, a sequence or a dict");
  const Argument *key = index.getHost();
  for (const auto &[name, entry] : dict->entries)
    if (key && key->isString() && key->getString() == name)
      return entry;
  return context.fail("index", "finds no such key in the dict");
}

/// tuple([a, b]): the same values.  Rule `make_tuple_input`.
llvm::Expected<ValueType> inferMakeTuple(const InferContext &context) {
  ValueType input = context.getValue("input");
  if (const auto *sequence = input.getSequence())
    return ValueType::sequence(Argument::Kind::Tuple, sequence->elements);
  return context.fail("input", "wants a list or tuple of values");
}

} // namespace qfx
