// Elements taken from, or put to, places that index tensors name.
#include "kernels/gather/Gather.h"
#include "backends/reference/AdvancedIndex.h"
#include "backends/reference/Emit.h"
#include "backends/reference/ReferenceModules.h"
#include "backends/runtime/CopyStep.h"
#include "backends/runtime/Kernels.h"
#include "ir/Diagnostics.h"
#include "ir/OpKind.h"

#include "llvm/ADT/STLExtras.h"

#include <mutex>

namespace qfx::runtime {

namespace {

/// The plan and the views its index tensors read; pointers are filled in when it runs.
struct Lookup {
  kernels::GatherPlan plan;
  std::vector<View> indices;

  explicit Lookup(llvm::ArrayRef<int64_t> sizes, int64_t elemBytes) {
    plan.rank = static_cast<int>(sizes.size());
    std::copy(sizes.begin(), sizes.end(), plan.sizes);
    plan.elemBytes = static_cast<int>(elemBytes);
  }
  /// \param firstDim  the walk's dimension that the index tensor's first dimension is.
  void addIndex(const View &index, size_t firstDim, int64_t tableStride, int64_t size) {
    kernels::GatherPlan::Index &entry = plan.indices[plan.numIndices++];
    for (size_t i = 0; i < index.getRank(); ++i)
      entry.strides[firstDim + i] = index.sizes[i] == 1 ? 0 : index.strides[i];
    entry.tableStride = tableStride;
    entry.size = size;
    indices.push_back(index);
  }
  void setValueStrides(const View &values) { std::copy(values.strides.begin(), values.strides.end(), plan.valueStrides); }
  kernels::GatherPlan getReady() const {
    kernels::GatherPlan ready = plan;
    for (size_t k = 0; k < indices.size(); ++k)
      ready.indices[k].data = indices[k].getData<int64_t>();
    return ready;
  }
};

llvm::Error makeIndexError(const Location &loc, const std::string &name, const kernels::GatherError &error,
                           const kernels::GatherPlan &plan) {
  return qfx::error(loc, "'{0}': index {1} is out of range for a dimension of size {2}", name, error.value,
                    plan.indices[error.index].size)
      .code("run_index");
}

llvm::Expected<View> getIndexTensor(BindContext &context, const View &view) {
  const DTypeInfo &info = getDTypeInfo(view.getDType());
  if (info.kind != DTypeKind::Integer)
    return context.fail("an index must be a tensor of integers, got {0}", toString(view.type));
  return castTo(context, view, DType::Int64);
}

/// A fresh row-major tensor of the walk's sizes, filled from `table`.
View emitGather(BindContext &context, const View &table, Lookup lookup) {
  llvm::ArrayRef<int64_t> sizes(lookup.plan.sizes, static_cast<size_t>(lookup.plan.rank));
  View dst = context.allocate(withSizes(table, sizes), StorageOrder::RowMajor);
  lookup.setValueStrides(dst);
  std::vector<const View *> reads{&table};
  for (const View &index : lookup.indices)
    reads.push_back(&index);
  Location loc = context.getCall().loc;
  std::string name = context.getNode().getName();
  context.emit(reads, {&dst}, [table, dst, lookup, loc, name](RunContext &run) {
    kernels::GatherPlan plan = lookup.getReady();
    std::mutex mutex;
    kernels::GatherError first;
    run.parallelFor(plan.count(), kElementGrain, [&](int64_t begin, int64_t end, void *) {
      kernels::GatherError error = kernels::gather(plan, table.getBytes(), dst.getBytes(), begin, end);
      std::lock_guard<std::mutex> lock(mutex);
      if (error.index >= 0)
        first = error;
    });
    if (first.index >= 0)
      run.fail(makeIndexError(loc, name, first, plan));
  });
  return dst;
}

/// table[...] = or += values over the walk, in a copy of `input`; the table is all of it or `place`, a view of a dense input.
View emitScatter(BindContext &context, const View &input, const View &values, Lookup lookup, kernels::ScatterMode mode,
                 const View *place = nullptr) {
  View dst = context.allocate(withSizes(input, input.sizes), place ? input.strides : getDenseStrides(input.sizes, StorageOrder::RowMajor));
  View table = place ? movedTo(*place, input, dst) : dst;
  lookup.setValueStrides(values);
  std::vector<const View *> reads{&input, &values};
  for (const View &index : lookup.indices)
    reads.push_back(&index);
  Location loc = context.getCall().loc;
  std::string name = context.getNode().getName();
  // One step: copying first in a step of its own would let a later write look like the first.
  context.emit(reads, {&dst}, [input, values, dst, table, lookup, mode, loc, name](RunContext &run) {
    runCopy(run, input, dst);
    kernels::GatherPlan plan = lookup.getReady();
    kernels::GatherError error = kernels::scatter(plan, values.getBytes(), table.getBytes(), mode);
    if (error.index >= 0)
      run.fail(makeIndexError(loc, name, error, plan));
  });
  return dst;
}

/// The walk of gather and scatter: the index's sizes; `dim` is replaced by the index.
Lookup alongDim(const View &table, const View &index, size_t dim) {
  Lookup lookup(index.sizes, table.getElemBytes());
  for (size_t i = 0; i < index.getRank(); ++i)
    lookup.plan.tableStrides[i] = i == dim ? 0 : table.strides[i];
  lookup.addIndex(index, 0, table.getRank() ? table.strides[dim] : 0, table.getRank() ? table.sizes[dim] : 1);
  return lookup;
}

} // namespace

llvm::Expected<RuntimeValue> bindIndexSelect(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<View> given = context.getTensor("index");
  if (!given)
    return given.takeError();
  llvm::Expected<View> index = getIndexTensor(context, *given);
  if (!index)
    return index.takeError();
  llvm::Expected<size_t> dim = getDimSlot(context, "dim", input->getRank());
  if (!dim)
    return dim.takeError();
  View positions = reshaped(context, *index, {index->getNumElements()});
  if (!input->getRank())
    return RuntimeValue(*input);
  Sizes sizes = input->sizes;
  sizes[*dim] = positions.sizes[0];
  Lookup lookup(sizes, input->getElemBytes());
  for (size_t i = 0; i < sizes.size(); ++i)
    lookup.plan.tableStrides[i] = i == *dim ? 0 : input->strides[i];
  lookup.addIndex(positions, *dim, input->strides[*dim], input->sizes[*dim]);
  return RuntimeValue(emitGather(context, *input, std::move(lookup)));
}

/// gather and take_along_dim (whose operands broadcast first, or are flat without a dimension).
llvm::Expected<RuntimeValue> bindGather(BindContext &context) {
  bool broadcasts = context.getOp().kind == OpKind::TakeAlongDim;
  llvm::Expected<View> given = context.getTensor("input");
  if (!given)
    return given.takeError();
  llvm::Expected<View> indices = context.getTensor(broadcasts ? "indices" : "index");
  if (!indices)
    return indices.takeError();
  llvm::Expected<View> index = getIndexTensor(context, *indices);
  if (!index)
    return index.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  View table = *given;
  size_t dim = 0;
  if (broadcasts && !context.has("dim")) {
    table = reshaped(context, table, {table.getNumElements()});
    index = reshaped(context, *index, {index->getNumElements()});
  } else {
    llvm::Expected<size_t> wrapped = getDimSlot(context, "dim", table.getRank());
    if (!wrapped)
      return wrapped.takeError();
    dim = *wrapped;
  }
  if (broadcasts && context.has("dim")) {
    Sizes sizes;
    for (int64_t size : type->getSizes())
      sizes.push_back(size);
    index = broadcasted(*index, sizes);
    sizes[dim] = table.sizes[dim];
    table = broadcasted(table, sizes);
  }
  if (!index->getRank()) {
    View vector = reshaped(context, *index, {1});
    View flat = reshaped(context, table, {table.getNumElements()});
    return RuntimeValue(reshaped(context, emitGather(context, flat, alongDim(flat, vector, 0)), {}));
  }
  if (!table.getRank())
    table = reshaped(context, table, {1});
  return RuntimeValue(emitGather(context, table, alongDim(table, *index, dim)));
}

llvm::Expected<RuntimeValue> bindEmbedding(BindContext &context) {
  llvm::Expected<View> table = getWeightOperand(context);
  if (!table)
    return table.takeError();
  if (context.has("max_norm"))
    return context.fail("takes max_norm=None only: it would change the weight");
  llvm::Expected<View> given = context.getTensor("input");
  if (!given)
    return given.takeError();
  llvm::Expected<View> index = getIndexTensor(context, *given);
  if (!index)
    return index.takeError();
  Sizes sizes = index->sizes;
  sizes.push_back(table->sizes[1]);
  Lookup lookup(sizes, table->getElemBytes());
  lookup.plan.tableStrides[sizes.size() - 1] = table->strides[1];
  lookup.addIndex(*index, 0, table->strides[0], table->sizes[0]);
  return RuntimeValue(emitGather(context, *table, std::move(lookup)));
}

namespace {

/// The entries of an `indices` operand: an index tensor, or none for a dimension that stays.
llvm::Expected<IndexEntries> getIndexEntries(BindContext &context) {
  IndexEntries entries;
  for (const RuntimeValue &entry : context.getValue("indices").elements) {
    bool isNone = entry.kind == RuntimeValue::Kind::Host && entry.host.isNone();
    if (!isNone && !entry.isTensor())
      return context.fail("takes index tensors or None, got {0}", describe(entry));
    entries.push_back(isNone ? std::nullopt : std::optional<View>(entry.view));
  }
  return entries;
}

/// What x[i, :, j] walks: the places of an advanced index over a table.
llvm::Expected<Lookup> makeAdvanced(BindContext &context, const View &table, IndexEntries entries) {
  Sizes common;
  for (std::optional<View> &entry : entries) {
    if (!entry)
      continue;
    if (entry->getDType() == DType::Bool || entry->getDType() == DType::UInt8) // PyTorch reads bytes as a mask too
      return context.fail("an index of bools or bytes gives a shape that is known only at run time");
    llvm::Expected<View> index = getIndexTensor(context, *entry);
    if (!index)
      return index.takeError();
    while (common.size() < index->getRank())
      common.insert(common.begin(), 1);
    for (size_t i = 0; i < index->getRank(); ++i)
      if (index->sizes[i] != 1)
        common[i + common.size() - index->getRank()] = index->sizes[i];
    entry = *index;
  }
  // Where the common dimensions go: in front, unless the index tensors stand side by side.
  std::optional<size_t> first, last;
  bool isScattered = false;
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i]) {
      isScattered |= last && *last + 1 != i;
      first = first.value_or(i);
      last = i;
    }
  if (!first)
    return context.fail("takes at least one index tensor");
  size_t place = isScattered ? 0 : *first;
  Sizes sizes;
  llvm::SmallVector<int64_t, 8> tableStrides;
  for (size_t i = 0; i < table.getRank(); ++i) {
    if (i < entries.size() && entries[i])
      continue;
    sizes.push_back(table.sizes[i]);
    tableStrides.push_back(table.strides[i]);
  }
  sizes.insert(sizes.begin() + place, common.begin(), common.end());
  tableStrides.insert(tableStrides.begin() + place, common.size(), 0);
  if (sizes.size() > kernels::kMaxGatherRank)
    return context.fail("its result has {0} dimensions, at most {1} are supported", sizes.size(), kernels::kMaxGatherRank);
  Lookup lookup(sizes, table.getElemBytes());
  std::copy(tableStrides.begin(), tableStrides.end(), lookup.plan.tableStrides);
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i])
      lookup.addIndex(*entries[i], place + common.size() - entries[i]->getRank(), table.strides[i], table.sizes[i]);
  return lookup;
}

} // namespace

llvm::Expected<View> gatherAdvanced(BindContext &context, const View &table, IndexEntries entries) {
  llvm::Expected<Lookup> lookup = makeAdvanced(context, table, std::move(entries));
  if (!lookup)
    return lookup.takeError();
  return emitGather(context, table, std::move(*lookup));
}

llvm::Expected<View> scatterAdvanced(BindContext &context, const View &input, const View &place, IndexEntries entries, const View &values) {
  llvm::Expected<Lookup> lookup = makeAdvanced(context, place, std::move(entries));
  if (!lookup)
    return lookup.takeError();
  View spread = broadcasted(values, llvm::ArrayRef<int64_t>(lookup->plan.sizes, static_cast<size_t>(lookup->plan.rank)));
  return emitScatter(context, input, spread, std::move(*lookup), kernels::ScatterMode::Replace, &place);
}

llvm::Expected<RuntimeValue> bindIndex(BindContext &context) {
  llvm::Expected<View> table = context.getTensor("input");
  if (!table)
    return table.takeError();
  llvm::Expected<IndexEntries> entries = getIndexEntries(context);
  if (!entries)
    return entries.takeError();
  llvm::Expected<View> result = gatherAdvanced(context, *table, std::move(*entries));
  if (!result)
    return result.takeError();
  return RuntimeValue(*result);
}

/// How to add to elements of this dtype.
static llvm::Expected<kernels::ScatterMode> getAddMode(BindContext &context, DType dtype) {
  if (dtype == DType::Float32)
    return kernels::ScatterMode::AddF32;
  if (dtype == DType::Int64)
    return kernels::ScatterMode::AddI64;
  return context.fail("adds to float32 and int64 only, got {0}", getDTypeInfo(dtype).text);
}

llvm::Expected<RuntimeValue> bindIndexPut(BindContext &context) {
  llvm::Expected<View> given = context.getTensor("input");
  if (!given)
    return given.takeError();
  llvm::Expected<View> values = context.getTensor("values");
  if (!values)
    return values.takeError();
  llvm::Expected<bool> accumulate = context.attrs().getBool("accumulate");
  if (!accumulate)
    return accumulate.takeError();
  View input = context.toOrder(*given, StorageOrder::RowMajor);
  llvm::Expected<IndexEntries> entries = getIndexEntries(context);
  if (!entries)
    return entries.takeError();
  llvm::Expected<Lookup> lookup = makeAdvanced(context, input, std::move(*entries));
  if (!lookup)
    return lookup.takeError();
  kernels::ScatterMode mode = kernels::ScatterMode::Replace;
  if (*accumulate) {
    llvm::Expected<kernels::ScatterMode> add = getAddMode(context, input.getDType());
    if (!add)
      return add.takeError();
    mode = *add;
  }
  llvm::ArrayRef<int64_t> sizes(lookup->plan.sizes, static_cast<size_t>(lookup->plan.rank));
  View spread = broadcasted(*values, sizes);
  return RuntimeValue(emitScatter(context, input, spread, std::move(*lookup), mode));
}

/// scatter, scatter_add, index_add.
llvm::Expected<RuntimeValue> bindScatter(BindContext &context) {
  OpKind op = context.getOp().kind;
  bool isRows = op == OpKind::IndexAdd;
  llvm::Expected<View> given = context.getTensor("input");
  if (!given)
    return given.takeError();
  View input = context.toOrder(*given, StorageOrder::RowMajor);
  llvm::Expected<View> rawIndex = context.getTensor("index");
  if (!rawIndex)
    return rawIndex.takeError();
  llvm::Expected<View> index = getIndexTensor(context, *rawIndex);
  if (!index)
    return index.takeError();
  llvm::Expected<View> source = getTensorOrNumber(context, isRows ? "source" : "src");
  if (!source)
    return source.takeError();
  llvm::Expected<View> values = castTo(context, *source, input.getDType());
  if (!values)
    return values.takeError();
  llvm::Expected<size_t> dim = getDimSlot(context, "dim", input.getRank());
  if (!dim)
    return dim.takeError();
  kernels::ScatterMode mode = kernels::ScatterMode::Replace;
  if (op != OpKind::Scatter) {
    llvm::Expected<kernels::ScatterMode> add = getAddMode(context, input.getDType());
    if (!add)
      return add.takeError();
    mode = *add;
  }
  if (!input.getRank())
    return context.fail("takes tensors of rank >= 1, got a scalar");
  View spread = *values;
  if (!isRows) {
    // The values may be larger than the index: their first elements count.
    if (spread.getRank() != index->getRank())
      spread = broadcasted(spread, index->sizes);
    Lookup lookup = alongDim(input, *index, *dim);
    return RuntimeValue(emitScatter(context, input, spread, std::move(lookup), mode));
  }
  llvm::Expected<double> alpha = context.attrs().getNumber("alpha");
  if (!alpha)
    return alpha.takeError();
  if (*alpha != 1)
    spread = emitPointwise(context, kernels::PointwiseKind::Mul, {spread, makeScalar(spread.getDType(), *alpha)},
                           spread.sizes);
  Lookup lookup(spread.sizes, input.getElemBytes());
  for (size_t i = 0; i < input.getRank(); ++i)
    lookup.plan.tableStrides[i] = i == *dim ? 0 : input.strides[i];
  lookup.addIndex(reshaped(context, *index, {index->getNumElements()}), *dim, input.strides[*dim], input.sizes[*dim]);
  return RuntimeValue(emitScatter(context, input, spread, std::move(lookup), mode));
}

/// Ones at the classes of a tensor of zeros.
llvm::Expected<RuntimeValue> bindOneHot(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::SmallVector<int64_t, 4> sizes = type->getSizes();
  View zeros = broadcasted(makeScalar(DType::Int64, 0), sizes);
  View ones = broadcasted(makeScalar(DType::Int64, 1), input->sizes);
  Strides strides = getDenseStrides(sizes, StorageOrder::RowMajor);
  Lookup lookup(input->sizes, static_cast<int64_t>(sizeof(int64_t)));
  std::copy_n(strides.begin(), input->getRank(), lookup.plan.tableStrides);
  lookup.addIndex(*input, 0, 1, sizes.back());
  return RuntimeValue(emitScatter(context, zeros, ones, std::move(lookup), kernels::ScatterMode::Replace));
}

} // namespace qfx::runtime
