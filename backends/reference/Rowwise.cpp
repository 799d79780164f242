// Reductions, running sums, sorting: the dimensions they run over go last, then each row is one call.
#include "backends/reference/Rowwise.h"

#include "backends/reference/Emit.h"
#include "backends/runtime/Kernels.h"

#include "llvm/ADT/STLExtras.h"
#include "ir/OpKind.h"

#include <cmath>

namespace qfx::runtime {

using kernels::RowwiseKind;

namespace {

bool runsAlong(RowwiseKind kind) {
  return kind == RowwiseKind::RunningSum || kind == RowwiseKind::RunningProduct || kind == RowwiseKind::Order;
}

/// The dimensions in slot `dim`; none given: all.
llvm::Expected<llvm::SmallVector<bool, 8>> getDims(BindContext &context, size_t rank) {
  llvm::SmallVector<bool, 8> isReduced(rank, false);
  bool any = false;
  RuntimeValue dim = context.getCall().find("dim") ? context.getValue("dim") : RuntimeValue();
  bool isFlag = dim.kind == RuntimeValue::Kind::Host && dim.host.isBool(); // std(x, unbiased)
  if (context.getCall().find("dim") && context.has("dim") && !isFlag) {
    llvm::Expected<llvm::SmallVector<int64_t, 4>> dims = context.attrs().getInts("dim");
    if (!dims)
      return dims.takeError();
    for (int64_t one : *dims) {
      int64_t index = one < 0 ? one + static_cast<int64_t>(std::max<size_t>(rank, 1)) : one;
      if (rank == 0)
        continue;
      isReduced[static_cast<size_t>(index)] = any = true;
    }
  }
  if (!any)
    isReduced.assign(rank, true);
  return isReduced;
}

/// The number that the row's functions read.
llvm::Expected<kernels::RowwiseParams> getParams(BindContext &context, RowwiseKind kind, int64_t length) {
  kernels::RowwiseParams params;
  const BoundCall &call = context.getCall();
  if (kind == RowwiseKind::Variance || kind == RowwiseKind::Deviation) {
    params.p = 1;
    RuntimeValue dim = context.getValue("dim");
    bool isFlag = dim.kind == RuntimeValue::Kind::Host && dim.host.isBool();
    llvm::Expected<bool> unbiased = context.attrs().getBool(isFlag ? "dim" : "unbiased");
    if (!unbiased)
      return unbiased.takeError();
    params.p = *unbiased ? 1 : 0;
    if (context.has("correction")) {
      llvm::Expected<double> correction = context.attrs().getNumber("correction");
      if (!correction)
        return correction.takeError();
      params.p = *correction;
    }
  } else if (kind == RowwiseKind::NormOf) {
    params.p = 2;
    if (context.getValue("p").host.isNumber())
      params.p = context.getValue("p").host.getNumber();
  } else if (kind == RowwiseKind::Order) {
    params.p = static_cast<double>(length);
    if (call.find("k")) {
      llvm::Expected<int64_t> k = context.attrs().getInt("k");
      if (!k)
        return k.takeError();
      params.p = static_cast<double>(*k);
    }
    llvm::StringRef slot = call.find("largest") ? "largest" : "descending";
    llvm::Expected<bool> descending = context.attrs().getBool(slot);
    if (!descending)
      return descending.takeError();
    params.flag = *descending;
  }
  return params;
}

RowResults emitRows(BindContext &context, const View &input, llvm::ArrayRef<bool> isReduced, RowwiseKind kind,
                    const kernels::RowwiseParams &params) {
  const kernels::RowwiseInfo &info = kernels::getRowwise(kind);
  llvm::SmallVector<size_t, 8> order;
  Sizes kept;
  int64_t length = 1;
  for (bool pass : {false, true})
    for (size_t i = 0; i < input.getRank(); ++i)
      if (isReduced[i] == pass) {
        order.push_back(i);
        if (pass)
          length *= input.sizes[i];
        else
          kept.push_back(input.sizes[i]);
      }
  View src = context.toOrder(permuted(input, order), StorageOrder::RowMajor);
  int64_t rows = 1;
  for (int64_t size : kept)
    rows *= size;
  bool along = runsAlong(kind);
  int64_t perRow = kind == RowwiseKind::Order ? static_cast<int64_t>(params.p) : along ? length : 1;
  Sizes sizes = kept;
  if (along)
    sizes.push_back(perRow);
  DType first = info.result == kernels::RowwiseResult::Int    ? DType::Int64
                : info.result == kernels::RowwiseResult::Bool ? DType::Bool
                                                              : src.getDType();
  bool isMoment = kind == RowwiseKind::Variance || kind == RowwiseKind::Deviation;
  RowResults results;
  results.first = context.allocate(withSizes(src, sizes, first), StorageOrder::RowMajor);
  results.second = context.allocate(withSizes(src, sizes, isMoment ? DType::Float32 : DType::Int64), StorageOrder::RowMajor);
  kernels::RowwiseFn fn = src.getDType() == DType::Float32 ? info.onFloat : info.onInt;
  assert(fn && "the function has no form for this type");
  int64_t srcBytes = length * src.getElemBytes();
  context.emit({&src}, {&results.first, &results.second}, [=](RunContext &run) {
    int64_t firstBytes = perRow * results.first.getElemBytes(), secondBytes = perRow * results.second.getElemBytes();
    run.parallelFor(rows, kElementGrain / std::max<int64_t>(length, 1) + 1, [&](int64_t begin, int64_t end, void *) {
      for (int64_t row = begin; row < end; ++row)
        fn(src.getBytes() + row * srcBytes, length, results.first.getBytes() + row * firstBytes,
           results.second.getBytes() + row * secondBytes, params);
    });
  });
  if (!along)
    return results;
  // The row's dimension goes back to its place.
  llvm::SmallVector<size_t, 8> back;
  size_t next = 0;
  for (size_t i = 0; i < input.getRank(); ++i)
    back.push_back(isReduced[i] ? kept.size() : next++);
  if (!input.getRank())
    return results;
  results.first = permuted(results.first, back);
  results.second = permuted(results.second, back);
  return results;
}

/// A result with the node's sizes (kept dimensions of 1 come back) and dtype.
llvm::Expected<RuntimeValue> shapeResult(BindContext &context, const View &view, const ValueType &wanted) {
  llvm::Expected<TensorType> type = getStaticType(context, wanted);
  if (!type)
    return type.takeError();
  llvm::Expected<View> converted = castTo(context, view, type->dtype);
  if (!converted)
    return converted.takeError();
  return RuntimeValue(reshaped(context, *converted, type->getSizes()));
}

} // namespace

llvm::Expected<RowResults> computeRows(BindContext &context, RowwiseKind kind, const View &input) {
  llvm::Expected<llvm::SmallVector<bool, 8>> dims = getDims(context, input.getRank());
  if (!dims)
    return dims.takeError();
  int64_t length = 1;
  for (size_t i = 0; i < input.getRank(); ++i)
    length *= (*dims)[i] ? input.sizes[i] : 1;
  bool needsElements = kind == RowwiseKind::Largest || kind == RowwiseKind::Smallest ||
                       kind == RowwiseKind::IndexOfLargest || kind == RowwiseKind::IndexOfSmallest;
  if (length == 0 && needsElements)
    return context.fail("has no element to choose among {0}", toString(input.type));
  llvm::Expected<kernels::RowwiseParams> params = getParams(context, kind, length);
  if (!params)
    return params.takeError();
  return emitRows(context, input, *dims, kind, *params);
}

static llvm::Expected<RuntimeValue> bindRows(BindContext &context, RowwiseKind kind) {
  llvm::Expected<View> given = context.getTensor("input");
  if (!given)
    return given.takeError();
  llvm::Expected<DType> dtype = getComputeDType(context, *given);
  if (!dtype)
    return dtype.takeError();
  const ValueType::Sequence *pair = context.getResult().getSequence();
  llvm::Expected<TensorType> type = getStaticType(context, pair ? pair->elements[0] : context.getResult());
  if (!type)
    return type.takeError();
  bool isFloatOnly = !kernels::getRowwise(kind).onInt;
  bool wantsFloat = kernels::getRowwise(kind).result == kernels::RowwiseResult::Same && isFloat(type->dtype);
  llvm::Expected<View> input = castTo(context, *given, isFloatOnly || wantsFloat ? DType::Float32 : *dtype);
  if (!input)
    return input.takeError();
  llvm::Expected<RowResults> results = computeRows(context, kind, *input);
  if (!results)
    return results.takeError();
  if (!pair) {
    bool givesIndices = context.getOp().kind == OpKind::Argsort;
    return shapeResult(context, givesIndices ? results->second : results->first, context.getResult());
  }
  std::vector<RuntimeValue> values;
  for (auto [view, wanted] : {std::pair(&results->first, &pair->elements[0]), std::pair(&results->second, &pair->elements[1])}) {
    llvm::Expected<RuntimeValue> value = shapeResult(context, *view, *wanted);
    if (!value)
      return value.takeError();
    values.push_back(std::move(*value));
  }
  return RuntimeValue::ofSequence(std::move(values));
}

llvm::Expected<RuntimeValue> bindRowwise(BindContext &context) {
  return bindRows(context, findRowwiseRow(context.getOp().kind)->kind);
}

/// Sums of integers and bools.
llvm::Expected<RuntimeValue> bindIntegerSum(BindContext &context) { return bindRows(context, RowwiseKind::Sum); }

/// max and min: of two tensors, along a dimension, or of all elements.
llvm::Expected<RuntimeValue> bindExtreme(BindContext &context) {
  bool isMax = context.getOp().kind == OpKind::Max;
  if (!context.getValue("dim").isTensor())
    return bindRows(context, isMax ? RowwiseKind::Largest : RowwiseKind::Smallest);
  std::vector<View> operands;
  for (llvm::StringRef slot : {"input", "dim"}) {
    llvm::Expected<View> view = context.getTensor(slot);
    if (!view)
      return view.takeError();
    operands.push_back(std::move(*view));
  }
  llvm::Expected<DType> dtype = getComputeDType(context, operands);
  if (!dtype)
    return dtype.takeError();
  for (View &operand : operands) {
    llvm::Expected<View> converted = castTo(context, operand, *dtype);
    if (!converted)
      return converted.takeError();
    operand = *converted;
  }
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  View result = emitPointwise(context, isMax ? kernels::PointwiseKind::Maximum : kernels::PointwiseKind::Minimum,
                              operands, type->getSizes());
  llvm::Expected<View> converted = castTo(context, result, type->dtype);
  if (!converted)
    return converted.takeError();
  return RuntimeValue(*converted);
}

} // namespace qfx::runtime
