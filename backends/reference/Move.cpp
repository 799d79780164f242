// Operators that only move or re-label elements: most become another view of the same memory.
#include "backends/reference/AdvancedIndex.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/CopyStep.h"
#include "backends/runtime/Kernels.h"
#include "ir/SequenceSlice.h"

namespace qfx::runtime {

namespace {

/// The element order of `view` under other sizes: a view where strides allow it, else a copy in the default layout.
View reshape(BindContext &context, const View &view, const TensorType &type) {
  llvm::SmallVector<int64_t, 4> sizes = type.getSizes();
  View result = view;
  result.type = type;
  result.sizes.assign(sizes.begin(), sizes.end());
  if (std::optional<Strides> strides = getReshapedStrides(view.sizes, view.strides, sizes)) {
    result.strides = *strides;
    return result;
  }
  View fresh = context.allocate(type, getDefaultOrder(sizes.size()));
  if (std::optional<Strides> strides = getReshapedStrides(fresh.sizes, fresh.strides, view.sizes)) {
    View target = fresh;
    target.type = view.type;
    target.sizes = view.sizes;
    target.strides = *strides;
    context.copy(view, target);
    return fresh;
  }
  View rows = context.toOrder(view, StorageOrder::RowMajor);
  rows.type = type;
  rows.sizes.assign(sizes.begin(), sizes.end());
  rows.strides = getDenseStrides(sizes, StorageOrder::RowMajor);
  return rows;
}

llvm::Expected<size_t> getDim(BindContext &context, llvm::StringRef slot, const View &view) {
  llvm::Expected<int64_t> given = context.attrs().getInt(slot);
  if (!given)
    return given.takeError();
  int64_t rank = static_cast<int64_t>(view.getRank()), dim = *given < 0 ? *given + rank : *given;
  if (dim < 0 || dim >= rank)
    return context.fail("dimension {0} is out of range for {1}", *given, toString(view.type));
  return static_cast<size_t>(dim);
}

/// `length` elements of dimension `dim` from `start` on, every `step`-th.
View slice(View view, size_t dim, int64_t start, int64_t length, int64_t step = 1) {
  view.offset += start * view.strides[dim];
  view.sizes[dim] = length;
  view.strides[dim] *= step;
  view.type.shape[dim] = Dim(length);
  return view;
}

View permute(const View &view, llvm::ArrayRef<size_t> order) {
  View result = view;
  for (size_t i = 0; i < order.size(); ++i) {
    result.sizes[i] = view.sizes[order[i]];
    result.strides[i] = view.strides[order[i]];
    result.type.shape[i] = view.type.shape[order[i]];
  }
  return result;
}

View swapDims(const View &view, size_t a, size_t b) {
  View result = view;
  std::swap(result.sizes[a], result.sizes[b]);
  std::swap(result.strides[a], result.strides[b]);
  std::swap(result.type.shape[a], result.type.shape[b]);
  return result;
}

/// Python's slice of a dimension: start, length and step.
struct Range {
  int64_t start, length, step;
};
Range resolveSlice(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step, int64_t size) {
  auto clampTo = [&](int64_t value) { return std::clamp<int64_t>(value < 0 ? value + size : value, 0, size); };
  int64_t first = start ? clampTo(*start) : 0, last = stop ? clampTo(*stop) : size;
  int64_t count = last > first ? (last - first - 1) / step + 1 : 0;
  return {first, count, count > 1 ? step : 1}; // a stride times a step that nobody takes might overflow
}

} // namespace

llvm::Expected<RuntimeValue> bindIdentity(BindContext &context) {
  const BoundSlot *training = context.getCall().find("training");
  const Module *module = context.getCall().module; // the quantized Dropout returns its input in training mode too
  bool isQuantized = module && module->getClassName() == "torch.ao.nn.quantized.Dropout";
  if (!isQuantized && training && training->arg.isBool() && training->arg.getBool())
    return context.fail("training=True is not supported: it would be random");
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  return RuntimeValue(*input);
}

llvm::Expected<RuntimeValue> bindReshape(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  return RuntimeValue(reshape(context, *input, *type));
}

llvm::Expected<RuntimeValue> bindTranspose(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<size_t> a = getDim(context, "dim0", *input);
  if (!a)
    return a.takeError();
  llvm::Expected<size_t> b = getDim(context, "dim1", *input);
  if (!b)
    return b.takeError();
  return RuntimeValue(swapDims(*input, *a, *b));
}

llvm::Expected<RuntimeValue> bindT(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  return RuntimeValue(input->getRank() < 2 ? *input : swapDims(*input, 0, 1));
}

llvm::Expected<RuntimeValue> bindPermute(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<llvm::SmallVector<int64_t, 4>> dims = context.attrs().getInts("dims");
  if (!dims)
    return dims.takeError();
  llvm::SmallVector<size_t, 6> order;
  for (int64_t dim : *dims)
    order.push_back(static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(input->getRank()) : dim));
  return RuntimeValue(permute(*input, order));
}

llvm::Expected<RuntimeValue> bindExpand(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  View result = *input;
  llvm::SmallVector<int64_t, 4> sizes = type->getSizes();
  size_t missing = sizes.size() - input->getRank();
  result.sizes.assign(sizes.begin(), sizes.end());
  result.strides.assign(sizes.size(), 0);
  for (size_t i = missing; i < sizes.size(); ++i)
    result.strides[i] = input->sizes[i - missing] == 1 ? 0 : input->strides[i - missing];
  return RuntimeValue(result);
}

/// chunk and split: inference has counted the pieces.
llvm::Expected<RuntimeValue> bindPieces(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<size_t> dim = getDim(context, "dim", *input);
  if (!dim)
    return dim.takeError();
  const ValueType::Sequence *pieces = context.getResult().getSequence();
  if (!pieces)
    return context.fail("the number of its pieces is not known before it runs");
  std::vector<RuntimeValue> views;
  int64_t start = 0;
  for (const ValueType &piece : pieces->elements) {
    const TensorType *type = piece.getTensor();
    if (!type || !type->isStatic())
      return context.fail("the sizes of its pieces are not known before it runs");
    int64_t length = type->shape[*dim].getValue();
    View view = slice(*input, *dim, start, length);
    view.type = *type;
    views.push_back(std::move(view));
    start += length;
  }
  return RuntimeValue::ofSequence(std::move(views));
}

llvm::Expected<RuntimeValue> bindUnbind(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<size_t> dim = getDim(context, "dim", *input);
  if (!dim)
    return dim.takeError();
  std::vector<RuntimeValue> views;
  for (int64_t i = 0; i < input->sizes[*dim]; ++i)
    views.push_back(squeezed(slice(*input, *dim, i, 1), *dim));
  return RuntimeValue::ofSequence(std::move(views));
}

llvm::Expected<RuntimeValue> bindNarrow(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<size_t> dim = getDim(context, "dim", *input);
  if (!dim)
    return dim.takeError();
  llvm::Expected<int64_t> start = context.attrs().getInt("start");
  if (!start)
    return start.takeError();
  llvm::Expected<int64_t> length = context.attrs().getInt("length");
  if (!length)
    return length.takeError();
  int64_t first = *start < 0 ? *start + input->sizes[*dim] : *start;
  if (first < 0 || *length < 0 || first + *length > input->sizes[*dim])
    return context.fail("elements {0} to {1} lie outside dimension {2} of {3}", first, first + *length, *dim,
                        toString(input->type));
  return RuntimeValue(slice(*input, *dim, first, *length));
}

llvm::Expected<RuntimeValue> bindSelect(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<size_t> dim = getDim(context, "dim", *input);
  if (!dim)
    return dim.takeError();
  llvm::Expected<int64_t> given = context.attrs().getInt("index");
  if (!given)
    return given.takeError();
  int64_t index = *given < 0 ? *given + input->sizes[*dim] : *given;
  if (index < 0 || index >= input->sizes[*dim])
    return context.fail("index {0} is out of range for dimension {1} of {2}", *given, *dim, toString(input->type));
  return RuntimeValue(squeezed(slice(*input, *dim, index, 1), *dim));
}

llvm::Expected<RuntimeValue> bindSlice(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<size_t> dim = getDim(context, "dim", *input);
  if (!dim)
    return dim.takeError();
  std::optional<int64_t> bounds[2];
  const char *names[] = {"start", "end"};
  for (int i = 0; i < 2; ++i)
    if (context.attrs().hasValue(names[i])) {
      llvm::Expected<int64_t> bound = context.attrs().getInt(names[i]);
      if (!bound)
        return bound.takeError();
      bounds[i] = *bound;
    }
  llvm::Expected<int64_t> step = context.attrs().getInt("step");
  if (!step)
    return step.takeError();
  if (*step < 1)
    return context.fail("step must be at least 1, got {0}", *step);
  Range range = resolveSlice(bounds[0], bounds[1], *step, input->sizes[*dim]);
  return RuntimeValue(slice(*input, *dim, range.start, range.length, range.step));
}

/// One entry of an index whose host values are known; advances `dim` over what it used up.
static llvm::Error applyIndex(BindContext &context, View &view, size_t &dim, const RuntimeValue &entry,
                              size_t entriesLeft) {
  if (entry.kind != RuntimeValue::Kind::Host)
    return context.fail("indexing with {0} is not supported", describe(entry));
  const Argument &index = entry.host;
  if (index.isNone()) {
    view = unsqueezed(view, dim++);
    return llvm::Error::success();
  }
  if (index.getKind() == Argument::Kind::Ellipsis) {
    dim = view.getRank() - entriesLeft;
    return llvm::Error::success();
  }
  if (dim >= view.getRank())
    return context.fail("too many indices for {0}", toString(view.type));
  int64_t size = view.sizes[dim];
  if (index.isInt()) {
    int64_t at = index.getInt() < 0 ? index.getInt() + size : index.getInt();
    if (at < 0 || at >= size)
      return context.fail("index {0} is out of range for dimension {1} of {2}", index.getInt(), dim,
                          toString(view.type));
    view = squeezed(slice(view, dim, at, 1), dim);
    return llvm::Error::success();
  }
  return context.fail("indexing with {0} is not supported", toString(index, ArgumentStyle::Qfx));
}

/// start:stop:step whose parts may be values of nodes.
static llvm::Error applySlice(BindContext &context, View &view, size_t &dim, const Argument &index) {
  if (dim >= view.getRank())
    return context.fail("too many indices for {0}", toString(view.type));
  std::optional<int64_t> parts[3];
  for (size_t i = 0; i < 3; ++i) {
    RuntimeValue part = context.getBuilder().evaluate(index.getElements()[i]);
    if (part.kind != RuntimeValue::Kind::Host || !(part.host.isNone() || part.host.isInt()))
      return context.fail("a slice needs integers known before the graph runs");
    if (part.host.isInt())
      parts[i] = part.host.getInt();
  }
  int64_t step = parts[2].value_or(1);
  if (step < 1)
    return context.fail("slice step must be at least 1, got {0}", step);
  Range range = resolveSlice(parts[0], parts[1], step, view.sizes[dim]);
  view = slice(view, dim++, range.start, range.length, range.step);
  return llvm::Error::success();
}

/// x[:, [2, 1, 0]]: a list of ints is a tensor of them.
static std::optional<View> viewIndexList(const RuntimeValue &list, const Argument &index) {
  if (index.getKind() != Argument::Kind::List || index.getElements().empty())
    return std::nullopt;
  std::vector<int64_t> positions;
  for (const RuntimeValue &element : list.elements) {
    if (element.kind != RuntimeValue::Kind::Host || !element.host.isInt())
      return std::nullopt;
    positions.push_back(element.host.getInt());
  }
  return viewConstant(Tensor::of<int64_t>(DType::Int64, {static_cast<int64_t>(positions.size())}, positions));
}

/// How many dimensions an entry of an index takes.
static size_t countDims(const RuntimeValue &entry) {
  if (entry.isTensor())
    return entry.view.getDType() == DType::Bool ? entry.view.getRank() : 1;
  return entry.kind == RuntimeValue::Kind::Host && entry.host.isNone() ? 0 : 1;
}

llvm::Expected<IndexedView> indexView(BindContext &context, const View &view, const Argument &index) {
  IndexedView result{view, {}};
  llvm::SmallVector<Argument, 4> arguments{index};
  if (index.getKind() == Argument::Kind::Tuple)
    arguments.assign(index.getElements().begin(), index.getElements().end());
  std::vector<RuntimeValue> entries;
  for (const Argument &argument : arguments) {
    entries.push_back(argument.getKind() == Argument::Kind::Slice ? RuntimeValue::ofHost(argument) : context.getBuilder().evaluate(argument));
    if (std::optional<View> list = viewIndexList(entries.back(), argument))
      entries.back() = *list;
  }
  size_t dim = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].isTensor()) {
      result.tensors.resize(dim);
      result.tensors.push_back(entries[i].view);
      dim += countDims(entries[i]);
      continue;
    }
    size_t consuming = 0; // dimensions that the entries behind this one take
    for (size_t j = i + 1; j < entries.size(); ++j)
      consuming += countDims(entries[j]);
    llvm::Error err = arguments[i].getKind() == Argument::Kind::Slice ? applySlice(context, result.view, dim, arguments[i])
                                                                       : applyIndex(context, result.view, dim, entries[i], consuming);
    if (err)
      return err;
  }
  return result;
}

llvm::Expected<RuntimeValue> bindGetItem(BindContext &context) {
  RuntimeValue input = context.getValue("input");
  const Argument &index = context.getCall().get("index").arg;
  if (input.kind == RuntimeValue::Kind::Sequence || input.kind == RuntimeValue::Kind::Dict) {
    RuntimeValue at = context.getBuilder().evaluate(index);
    int64_t count = static_cast<int64_t>(input.elements.size());
    if (at.kind == RuntimeValue::Kind::Host && at.host.isInt()) {
      int64_t i = at.host.getInt() < 0 ? at.host.getInt() + count : at.host.getInt();
      if (i < 0 || i >= count)
        return context.fail("index {0} is out of range for a sequence of {1}", at.host.getInt(), count);
      return input.elements[static_cast<size_t>(i)];
    }
    if (at.kind == RuntimeValue::Kind::Host && at.host.isString())
      for (size_t i = 0; i < input.keys.size(); ++i)
        if (input.keys[i] == at.host.getString())
          return input.elements[i];
    std::optional<Argument> slice = context.attrs().getValue("index").getConstant();
    if (slice && slice->getKind() == Argument::Kind::Slice && input.kind == RuntimeValue::Kind::Sequence) {
      std::vector<RuntimeValue> elements;
      for (size_t i : getSlicedPositions(*slice, count))
        elements.push_back(input.elements[i]);
      return RuntimeValue::ofSequence(std::move(elements));
    }
    return context.fail("indexing a sequence needs a number or key known before the graph runs");
  }
  llvm::Expected<View> tensor = context.getTensor("input");
  if (!tensor)
    return tensor.takeError();
  llvm::Expected<IndexedView> part = indexView(context, *tensor, index);
  if (!part)
    return part.takeError();
  if (part->tensors.empty())
    return RuntimeValue(part->view);
  llvm::Expected<View> gathered = gatherAdvanced(context, part->view, std::move(part->tensors));
  if (!gathered)
    return gathered.takeError();
  return RuntimeValue(*gathered);
}

llvm::Expected<RuntimeValue> bindMakeTuple(BindContext &context) {
  RuntimeValue input = context.getValue("input");
  if (input.kind != RuntimeValue::Kind::Sequence)
    return context.fail("a tuple is made of a list or tuple of values, got {0}", describe(input));
  return input;
}

/// channel_shuffle: [N, g, C / g, ...] with both swapped.
llvm::Expected<RuntimeValue> bindChannelShuffle(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<int64_t> groups = context.attrs().getInt("groups");
  if (!groups)
    return groups.takeError();
  if (input->getRank() < 2 || *groups < 1 || input->sizes[1] % *groups != 0)
    return context.fail("channels of {0} do not fall into {1} groups", toString(input->type), *groups);
  View split = *input;
  int64_t perGroup = input->sizes[1] / *groups;
  split.sizes[1] = perGroup;
  split.sizes.insert(split.sizes.begin() + 1, *groups);
  split.strides.insert(split.strides.begin() + 1, input->strides[1] * perGroup);
  split.type.shape[1] = Dim(perGroup);
  split.type.shape.insert(split.type.shape.begin() + 1, Dim(*groups));
  return RuntimeValue(reshape(context, swapDims(split, 1, 2), *type));
}

} // namespace qfx::runtime
