// Rules of moves and views beyond reshape, transpose and slices.
#include "ir/infer/ViewDetail.h"

#include "ir/OpKind.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

static llvm::Expected<TensorType> getMovable(const InferContext &context) {
  auto input = context.getTensor("input");
  if (!input)
    return input.takeError();
  if (llvm::Error err = checkNotPerChannel(context, *input))
    return err;
  return input;
}

/// roll, flip.  Rule `<op>_dim`; `roll_shifts`: as many shifts as dimensions.
llvm::Expected<ValueType> inferRearranged(const InferContext &context) {
  QFX_TRY(input, getMovable(context));
  QFX_TRY(dims, context.getInts("dims"));
  bool isRoll = context.getCall().op->kind == OpKind::Roll;
  for (int64_t dim : dims) {
    QFX_TRY(wrapped, wrapDim(context, dim, input.getRank()));
    (void)wrapped;
  }
  if (!isRoll) {
    QFX_TRY(distinct, wrapDims(context, dims, input.getRank(), /*emptyMeansAll=*/false));
    (void)distinct;
    return ValueType(input);
  }
  QFX_TRY(shifts, context.getInts("shifts"));
  if (dims.empty() ? shifts.size() != 1 : shifts.size() != dims.size())
    return context.fail("shifts", "wants one shift for each dimension, got {0} for {1}", shifts.size(), dims.size());
  return ValueType(input);
}

/// Rule `<op>_rank`: matrices.
llvm::Expected<ValueType> inferTriangle(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  if (input.getRank() < 2)
    return context.fail("rank", "wants a tensor of rank >= 2, got {0}", toString(input));
  input.format = MemoryFormat::Contiguous;
  return ValueType(input);
}

/// Rule `diagonal_dim`: two different dimensions.
llvm::Expected<ValueType> inferDiagonal(const InferContext &context) {
  QFX_TRY(input, getMovable(context));
  QFX_TRY(offset, context.getInt("offset"));
  QFX_TRY(first, context.getInt("dim1"));
  QFX_TRY(second, context.getInt("dim2"));
  QFX_TRY(a, wrapDim(context, first, input.getRank()));
  QFX_TRY(b, wrapDim(context, second, input.getRank()));
  if (a == b || input.getRank() < 2)
    return context.fail("dim", "wants two different dimensions, got {0} and {1}", first, second);
  const Dim rows = input.shape[a], columns = input.shape[b];
  Dim length = Dim::unknown();
  if (rows.isStatic() && columns.isStatic()) {
    int64_t room = offset >= 0 ? std::min(rows.getValue(), columns.getValue() - offset)
                               : std::min(rows.getValue() + offset, columns.getValue());
    length = Dim(std::max<int64_t>(room, 0));
  }
  input.shape.erase(input.shape.begin() + std::max(a, b));
  input.shape.erase(input.shape.begin() + std::min(a, b));
  input.shape.push_back(length);
  input.format = MemoryFormat::Contiguous;
  return ValueType(input);
}

/// Windows of `size` along a dimension, each an element of a new last dimension.  Rule `unfold_dim_size`.
llvm::Expected<ValueType> inferUnfoldDim(const InferContext &context) {
  QFX_TRY(input, getMovable(context));
  QFX_TRY(given, context.getInt("dimension"));
  QFX_TRY(dim, wrapDim(context, given, input.getRank()));
  QFX_TRY(size, context.getInt("size"));
  QFX_TRY(step, context.getInt("step"));
  if (input.shape.empty())
    return context.fail("size", "wants a tensor of rank >= 1, got a scalar");
  Dim &length = input.shape[dim];
  if (size < 0 || step < 1 || (length.isStatic() && size > length.getValue()))
    return context.fail("size", "wants size in 0..{0} and step > 0, got {1} and {2}", length, size, step);
  length = length.isStatic() ? Dim((length.getValue() - size) / step + 1) : Dim::unknown();
  input.shape.push_back(Dim(size));
  input.format = MemoryFormat::Contiguous;
  return ValueType(input);
}

/// Rule `movedim_dims`: as many sources as destinations.
llvm::Expected<ValueType> inferMovedim(const InferContext &context) {
  QFX_TRY(input, getMovable(context));
  QFX_TRY(sources, context.getInts("source"));
  QFX_TRY(targets, context.getInts("destination"));
  if (sources.size() != targets.size())
    return context.fail("dims", "wants as many sources as destinations, got {0} and {1}", sources.size(), targets.size());
  QFX_TRY(from, wrapDims(context, sources, input.getRank(), /*emptyMeansAll=*/false));
  QFX_TRY(to, wrapDims(context, targets, input.getRank(), /*emptyMeansAll=*/false));
  TensorType result = input;
  llvm::SmallVector<bool, 8> isFilled(input.getRank(), false);
  for (size_t i = 0; i < from.size(); ++i) {
    result.shape[to[i]] = input.shape[from[i]];
    isFilled[static_cast<size_t>(to[i])] = true;
  }
  size_t next = 0;
  for (size_t i = 0; i < input.getRank(); ++i) {
    if (llvm::is_contained(from, static_cast<int64_t>(i)))
      continue;
    while (isFilled[next])
      ++next;
    result.shape[next++] = input.shape[i];
  }
  result.format = MemoryFormat::Contiguous;
  return ValueType(result);
}

/// Rule `expand_as_broadcast`.
llvm::Expected<ValueType> inferExpandAs(const InferContext &context) {
  QFX_TRY(input, getMovable(context));
  QFX_TRY(other, context.getTensor("other"));
  QFX_TRY(shape, broadcastShapes(context, input.shape, other.shape));
  bool grows = shape.size() == other.getRank();
  for (size_t i = 0; grows && i < shape.size(); ++i)
    grows = shape[i].mayEqual(other.shape[i]);
  if (!grows)
    return context.fail("broadcast", "cannot expand {0} to {1}", toString(input.shape), toString(other.shape));
  input.shape = other.shape;
  input.format = fitFormat(input.format, shape.size());
  return ValueType(input);
}

/// repeat that takes fewer counts than dimensions.  Rule `tile_dims`: counts >= 0.
llvm::Expected<ValueType> inferTile(const InferContext &context) {
  QFX_TRY(input, getMovable(context));
  auto counts = context.getDims("dims");
  if (!counts)
    return counts.takeError();
  TensorType result = input;
  size_t rank = std::max(input.getRank(), counts->size());
  result.shape.clear();
  for (size_t i = 0; i < rank; ++i) {
    Dim size = i + input.getRank() < rank ? Dim(1) : input.shape[i + input.getRank() - rank];
    Dim count = i + counts->size() < rank ? Dim(1) : (*counts)[i + counts->size() - rank];
    if (count.getFactor() < 0)
      return context.fail("dims", "wants counts >= 0, got {0}", count);
    QFX_TRY(repeated, repeatSize(context, "dims", size, count));
    result.shape.push_back(repeated);
  }
  result.format = MemoryFormat::Contiguous;
  return ValueType(result);
}

/// Rules `meshgrid_input` (vectors or scalars) and `meshgrid_indexing` ('ij' or 'xy').
llvm::Expected<ValueType> inferMeshgrid(const InferContext &context) {
  ValueType value = context.getValue("tensors");
  const auto *list = value.getSequence();
  if (list && list->elements.size() == 1 && list->elements[0].getSequence())
    list = list->elements[0].getSequence();
  const Argument &indexing = context.getCall().get("indexing").arg;
  if (!indexing.isString() || (indexing.getString() != "ij" && indexing.getString() != "xy"))
    return context.fail("indexing", "wants indexing 'ij' or 'xy', got {0}", toString(indexing, ArgumentStyle::Qfx));
  if (!list || list->elements.empty())
    return context.fail("input", "wants a list of tensors");
  std::vector<TensorType> grids;
  Shape shape;
  for (const ValueType &one : list->elements) {
    const TensorType *tensor = one.getTensor();
    if (!tensor || tensor->getRank() > 1)
      return context.fail("input", "wants tensors of rank 0 or 1");
    if (llvm::Error err = checkNotPerChannel(context, *tensor))
      return err;
    grids.push_back(*tensor);
    shape.push_back(multiplyAll(tensor->shape));
  }
  if (indexing.getString() == "xy" && shape.size() >= 2)
    std::swap(shape[0], shape[1]);
  std::vector<ValueType> results;
  for (TensorType &grid : grids) {
    grid.shape = shape;
    grid.format = MemoryFormat::Contiguous;
    results.push_back(ValueType(grid));
  }
  return ValueType::sequence(Argument::Kind::Tuple, std::move(results));
}

} // namespace qfx
