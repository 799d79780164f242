// Moves that strides can say, or that a few strided copies make.
#include "backends/reference/Emit.h"
#include "backends/runtime/Kernels.h"

#include "llvm/ADT/STLExtras.h"
#include "ir/OpKind.h"

namespace qfx::runtime {

llvm::Expected<RuntimeValue> bindFlip(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<llvm::SmallVector<int64_t, 4>> dims = context.attrs().getInts("dims");
  if (!dims)
    return dims.takeError();
  View reversed = *input;
  for (int64_t dim : *dims) {
    size_t i = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(input->getRank()) : dim);
    reversed.offset += (reversed.sizes[i] - 1) * reversed.strides[i];
    reversed.strides[i] = -reversed.strides[i];
  }
  View dst = context.allocate(withSizes(*input, input->sizes), getDefaultOrder(input->getRank()));
  context.copy(reversed, dst);
  return RuntimeValue(dst);
}

/// `length` elements of a dimension from `start` on.
static View part(View view, size_t dim, int64_t start, int64_t length) {
  view.offset += start * view.strides[dim];
  view.sizes[dim] = length;
  view.type.shape[dim] = Dim(length);
  return view;
}

/// Each dimension is two pieces that change places; without dims the flat tensor is rolled.
llvm::Expected<RuntimeValue> bindRoll(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<llvm::SmallVector<int64_t, 4>> shifts = context.attrs().getInts("shifts");
  if (!shifts)
    return shifts.takeError();
  llvm::Expected<llvm::SmallVector<int64_t, 4>> dims = context.attrs().getInts("dims");
  if (!dims)
    return dims.takeError();
  View value = *input;
  if (dims->empty()) {
    value = reshaped(context, *input, {input->getNumElements()});
    dims->push_back(0);
  }
  for (auto [shift, dim] : llvm::zip(*shifts, *dims)) {
    size_t i = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(value.getRank()) : dim);
    int64_t size = value.sizes[i], by = size ? (shift % size + size) % size : 0;
    if (!by)
      continue;
    View dst = context.allocate(withSizes(value, value.sizes), getDefaultOrder(value.getRank()));
    View fromTail = part(value, i, size - by, by), fromHead = part(value, i, 0, size - by);
    View toHead = part(dst, i, 0, by), toTail = part(dst, i, by, size - by);
    context.copy(fromTail, toHead);
    context.copy(fromHead, toTail);
    value = dst;
  }
  return RuntimeValue(reshaped(context, value, input->sizes));
}

llvm::Expected<RuntimeValue> bindDiagonal(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<int64_t> offset = context.attrs().getInt("offset");
  if (!offset)
    return offset.takeError();
  llvm::Expected<size_t> a = getDimSlot(context, "dim1", input->getRank());
  if (!a)
    return a.takeError();
  llvm::Expected<size_t> b = getDimSlot(context, "dim2", input->getRank());
  if (!b)
    return b.takeError();
  View result = *input;
  int64_t length = type->getSizes().back(), stride = input->strides[*a] + input->strides[*b];
  if (length > 0)
    result.offset += *offset >= 0 ? *offset * input->strides[*b] : -*offset * input->strides[*a];
  for (size_t dim : {std::max(*a, *b), std::min(*a, *b)}) {
    result.sizes.erase(result.sizes.begin() + dim);
    result.strides.erase(result.strides.begin() + dim);
  }
  result.sizes.push_back(length);
  result.strides.push_back(stride);
  result.type = withSizes(*input, result.sizes);
  return RuntimeValue(result);
}

/// Windows along a dimension: overlapping views of the same memory.
llvm::Expected<RuntimeValue> bindUnfoldDim(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<size_t> dim = getDimSlot(context, "dimension", input->getRank());
  if (!dim)
    return dim.takeError();
  llvm::Expected<int64_t> step = context.attrs().getInt("step");
  if (!step)
    return step.takeError();
  View result = *input;
  llvm::SmallVector<int64_t, 4> sizes = type->getSizes();
  result.sizes.assign(sizes.begin(), sizes.end());
  result.strides.push_back(input->strides[*dim]);
  result.strides[*dim] *= *step;
  result.type = withSizes(*input, sizes);
  return RuntimeValue(result);
}

llvm::Expected<RuntimeValue> bindMovedim(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<llvm::SmallVector<int64_t, 4>> source = context.attrs().getInts("source");
  if (!source)
    return source.takeError();
  llvm::Expected<llvm::SmallVector<int64_t, 4>> target = context.attrs().getInts("destination");
  if (!target)
    return target.takeError();
  size_t rank = input->getRank();
  auto wrap = [&](int64_t dim) { return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim); };
  llvm::SmallVector<size_t, 8> order(rank, rank);
  llvm::SmallVector<bool, 8> isMoved(rank, false);
  for (auto [from, to] : llvm::zip(*source, *target)) {
    order[wrap(to)] = wrap(from);
    isMoved[wrap(from)] = true;
  }
  size_t next = 0;
  for (size_t &place : order) {
    if (place != rank)
      continue;
    while (isMoved[next])
      ++next;
    place = next++;
  }
  return RuntimeValue(permuted(*input, order));
}

/// [..., s, ...] as [..., count, s, ...] (whole tensor) or [..., s, count, ...] (each element), then flat again.
static View repeatDim(BindContext &context, const View &view, size_t dim, int64_t count, bool eachElement) {
  View repeated = view;
  size_t at = dim + (eachElement ? 1 : 0);
  repeated.sizes.insert(repeated.sizes.begin() + at, count);
  repeated.strides.insert(repeated.strides.begin() + at, 0);
  repeated.type = withSizes(view, repeated.sizes);
  Sizes flat = view.sizes;
  flat[dim] *= count;
  View dst = context.allocate(withSizes(view, flat), StorageOrder::RowMajor);
  View target = dst;
  target.sizes = repeated.sizes;
  target.strides = getDenseStrides(repeated.sizes, StorageOrder::RowMajor);
  target.type = repeated.type;
  context.copy(repeated, target);
  return dst;
}

/// Counts line up at the end.
llvm::Expected<RuntimeValue> bindTile(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<llvm::SmallVector<int64_t, 4>> counts =
      context.attrs().getInts("dims");
  if (!counts)
    return counts.takeError();
  View value = *input;
  Sizes sizes = input->sizes;
  while (sizes.size() < counts->size())
    sizes.insert(sizes.begin(), 1);
  if (sizes.size() >= kernels::kMaxPointwiseRank)
    return context.fail("takes tensors of fewer than {0} dimensions, got {1}", kernels::kMaxPointwiseRank, sizes.size());
  value = reshaped(context, value, sizes);
  size_t missing = sizes.size() - counts->size();
  for (size_t i = 0; i < counts->size(); ++i)
    if ((*counts)[i] != 1)
      value = repeatDim(context, value, i + missing, (*counts)[i], /*eachElement=*/false);
  return RuntimeValue(value);
}

llvm::Expected<RuntimeValue> bindRepeatInterleave(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  if (context.getValue("repeats").isTensor())
    return context.fail("takes one number of repeats; with a tensor of them the result's size is known only at run time");
  llvm::Expected<int64_t> count = context.attrs().getInt("repeats");
  if (!count)
    return count.takeError();
  View value = *input;
  size_t dim = 0;
  if (context.has("dim")) {
    llvm::Expected<size_t> given = getDimSlot(context, "dim", input->getRank());
    if (!given)
      return given.takeError();
    dim = *given;
  } else {
    value = reshaped(context, *input, {input->getNumElements()});
  }
  return RuntimeValue(repeatDim(context, value, dim, *count, /*eachElement=*/true));
}

llvm::Expected<RuntimeValue> bindMeshgrid(BindContext &context) {
  RuntimeValue list = context.getValue("tensors");
  if (list.elements.size() == 1 && list.elements[0].kind == RuntimeValue::Kind::Sequence)
    list = RuntimeValue(list.elements[0]);
  const Argument &indexing = context.getCall().get("indexing").arg;
  bool swaps = indexing.isString() && indexing.getString() == "xy" && list.elements.size() >= 2;
  const ValueType::Sequence *types = context.getResult().getSequence();
  std::vector<RuntimeValue> grids;
  for (size_t i = 0; i < list.elements.size(); ++i) {
    llvm::Expected<TensorType> type = getStaticType(context, types->elements[i]);
    if (!type)
      return type.takeError();
    if (!list.elements[i].isTensor())
      return context.fail("takes tensors, got {0}", describe(list.elements[i]));
    const View &vector = list.elements[i].view;
    size_t dim = swaps && i < 2 ? 1 - i : i;
    Sizes sizes(list.elements.size(), 1);
    sizes[dim] = vector.getNumElements();
    grids.push_back(broadcasted(reshaped(context, vector, sizes), type->getSizes()));
  }
  return RuntimeValue::ofSequence(std::move(grids));
}

/// triu and tril: what lies on the other side of the diagonal is 0.
llvm::Expected<RuntimeValue> bindTriangle(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<int64_t> diagonal = context.attrs().getInt("diagonal");
  if (!diagonal)
    return diagonal.takeError();
  llvm::Expected<DType> dtype = getComputeDType(context, *input);
  if (!dtype)
    return dtype.takeError();
  llvm::Expected<View> value = castTo(context, *input, *dtype);
  if (!value)
    return value.takeError();
  bool upper = context.getOp().kind == OpKind::Triu;
  int64_t columns = input->sizes.back(), rows = input->sizes[input->getRank() - 2];
  Tensor mask = Tensor::build(DType::Bool, {rows, columns}, [&, shift = *diagonal](MutableBytes bytes) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        bytes[static_cast<size_t>(i * columns + j)] = static_cast<std::byte>(upper ? j - i >= shift : j - i <= shift);
  });
  View result = emitPointwise(context, kernels::PointwiseKind::Select, {viewConstant(mask), *value, makeScalar(*dtype, 0)},
                              input->sizes);
  llvm::Expected<View> converted = castTo(context, result, input->getDType());
  if (!converted)
    return converted.takeError();
  return RuntimeValue(*converted);
}

} // namespace qfx::runtime
