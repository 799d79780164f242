// Views and conversions that many binding functions use.
#include "backends/reference/Emit.h"

#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx::runtime {

static std::optional<kernels::ElementType> getElementType(DType dtype) {
  using kernels::ElementType;
  switch (dtype) {
  case DType::Float32:
    return ElementType::F32;
  case DType::Float16:
    return ElementType::F16;
  case DType::BFloat16:
    return ElementType::BF16;
  case DType::Float64:
    return ElementType::F64;
  case DType::Int8:
    return ElementType::I8;
  case DType::UInt8:
    return ElementType::U8;
  case DType::Int16:
    return ElementType::I16;
  case DType::UInt16:
    return ElementType::U16;
  case DType::Int32:
    return ElementType::I32;
  case DType::Int64:
    return ElementType::I64;
  case DType::Bool:
    return ElementType::Bool;
  default:
    return std::nullopt;
  }
}

TensorType withSizes(const View &view, llvm::ArrayRef<int64_t> sizes, std::optional<DType> dtype) {
  TensorType type;
  type.dtype = dtype.value_or(view.getDType());
  type.quantizer = dtype ? nullptr : view.type.quantizer;
  for (int64_t size : sizes)
    type.shape.push_back(Dim(size));
  return type;
}

llvm::Expected<View> castTo(BindContext &context, const View &view, DType dtype) {
  if (view.getDType() == dtype)
    return view;
  std::optional<kernels::ElementType> from = getElementType(view.getDType()), to = getElementType(dtype);
  if (!from || !to)
    return context.fail("cannot convert {0} to {1}", toString(view.type), getDTypeInfo(dtype).text);
  View src = context.toDense(view);
  View dst = context.allocate(withSizes(src, src.sizes, dtype), src.strides);
  dst.type.format = view.type.format;
  context.emit({&src}, {&dst}, [src, dst, from = *from, to = *to](RunContext &run) {
    run.parallelFor(src.getNumElements(), kElementGrain, [&](int64_t begin, int64_t end, void *) {
      kernels::convertRow(from, src.getBytes() + begin * src.getElemBytes(), src.getElemBytes(), to,
                          dst.getBytes() + begin * dst.getElemBytes(), end - begin);
    });
  });
  return dst;
}

llvm::Expected<DType> getComputeDType(BindContext &context, llvm::ArrayRef<View> operands) {
  bool isFloating = false;
  for (const View &view : operands) {
    if (isQuantized(view.getDType()))
      return context.fail("takes no quantized tensors, got {0}", toString(view.type));
    if (view.getDType() == DType::Float64 && !(view.isConstant() && view.getNumElements() == 1))
      return context.fail("takes float32, float16, bfloat16, integers and bools, got {0}", toString(view.type));
    isFloating |= isFloat(view.getDType());
  }
  return isFloating ? DType::Float32 : DType::Int64;
}

View makeScalar(DType dtype, double value) {
  if (dtype == DType::Float32)
    return viewConstant(Tensor::of<float>(dtype, {}, {static_cast<float>(value)}));
  if (dtype == DType::Bool)
    return viewConstant(Tensor::of<uint8_t>(dtype, {}, {static_cast<uint8_t>(value != 0)}));
  return viewConstant(Tensor::of<int64_t>(DType::Int64, {}, {static_cast<int64_t>(value)}));
}

llvm::Expected<View> getTensorOrNumber(BindContext &context, llvm::StringRef slot) {
  RuntimeValue value = context.getValue(slot);
  if (value.isNumber())
    return value.view.getDType() == DType::Float64 ? castTo(context, value.view, DType::Float32) : value.view;
  if (value.kind != RuntimeValue::Kind::Host || !value.host.isNumber())
    return context.getTensor(slot);
  DType dtype = value.host.isFloat() ? DType::Float32 : value.host.isBool() ? DType::Bool : DType::Int64;
  if (value.host.isInt())
    return viewConstant(Tensor::of<int64_t>(DType::Int64, {}, {value.host.getInt()}));
  return makeScalar(dtype, value.host.getNumber());
}

View emitPointwise(BindContext &context, kernels::PointwiseKind kind, llvm::ArrayRef<View> operands,
                   llvm::ArrayRef<int64_t> sizes, const kernels::PointwiseParams &params) {
  const kernels::PointwiseInfo &info = kernels::getPointwise(kind);
  const View &last = operands.back();
  bool onFloat = last.getDType() == DType::Float32;
  assert(operands.size() == static_cast<size_t>(info.operands) && (onFloat || last.getDType() == DType::Int64) &&
         "operands of the wrong number or type");
  kernels::PointwiseFn row = onFloat ? info.onFloat : info.onInt;
  assert(row && "the function has no form for this type");
  // The result lies like an operand that has its sizes and is dense, else in the default order.
  Strides strides = getDenseStrides(sizes, getDefaultOrder(sizes.size()));
  for (const View &operand : llvm::reverse(operands))
    if (llvm::ArrayRef<int64_t>(operand.sizes) == sizes && isDenseStorage(operand.sizes, operand.strides))
      strides = operand.strides;
  View dst = context.allocate(withSizes(last, sizes, info.givesBool ? DType::Bool : last.getDType()), strides);
  llvm::SmallVector<size_t, 8> order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::stable_sort(order, [&](size_t x, size_t y) { return dst.strides[x] > dst.strides[y]; });
  kernels::PointwisePlan plan;
  plan.rank = static_cast<int>(sizes.size());
  plan.dstBytes = dst.getElemBytes();
  for (size_t i = 0; i < order.size(); ++i) {
    plan.sizes[i] = sizes[order[i]];
    for (size_t k = 0; k < operands.size(); ++k) {
      const View &operand = operands[k];
      size_t missing = sizes.size() - operand.getRank();
      if (order[i] >= missing && operand.sizes[order[i] - missing] != 1)
        plan.steps[k][i] = operand.strides[order[i] - missing] * operand.getElemBytes();
    }
  }
  std::vector<View> held(operands.begin(), operands.end());
  std::vector<const View *> reads;
  for (const View &view : held)
    reads.push_back(&view);
  context.emit(reads, {&dst}, [held, dst, plan, row, params](RunContext &run) {
    const std::byte *src[kernels::kMaxPointwiseOperands] = {};
    for (size_t k = 0; k < held.size(); ++k)
      src[k] = held[k].getBytes();
    run.parallelFor(dst.getNumElements(), kElementGrain / 4, [&](int64_t begin, int64_t end, void *) {
      kernels::runPointwise(plan, static_cast<int>(held.size()), src, dst.getBytes(), begin, end, row, params);
    });
  });
  return dst;
}

View permuted(const View &view, llvm::ArrayRef<size_t> order) {
  View result = view;
  result.sizes.clear();
  result.strides.clear();
  result.type.shape.clear();
  for (size_t dim : order) {
    result.sizes.push_back(view.sizes[dim]);
    result.strides.push_back(view.strides[dim]);
    result.type.shape.push_back(Dim(view.sizes[dim]));
  }
  return result;
}

View reshaped(BindContext &context, const View &view, llvm::ArrayRef<int64_t> sizes) {
  View result = view;
  std::optional<Strides> strides = getReshapedStrides(view.sizes, view.strides, sizes);
  if (!strides) {
    result = context.toOrder(view, StorageOrder::RowMajor);
    strides = getDenseStrides(sizes, StorageOrder::RowMajor);
  }
  result.type = withSizes(view, sizes);
  result.sizes.assign(sizes.begin(), sizes.end());
  result.strides = *strides;
  return result;
}

View broadcasted(const View &view, llvm::ArrayRef<int64_t> sizes) {
  View result = view;
  size_t missing = sizes.size() - view.getRank();
  result.type = withSizes(view, sizes);
  result.sizes.assign(sizes.begin(), sizes.end());
  result.strides.assign(sizes.size(), 0);
  for (size_t i = missing; i < sizes.size(); ++i)
    result.strides[i] = view.sizes[i - missing] == sizes[i] ? view.strides[i - missing] : 0;
  return result;
}

View movedTo(const View &part, const View &whole, const View &copy) {
  View result = part;
  result.buffer = copy.buffer;
  result.offset += copy.offset - whole.offset;
  return result;
}

llvm::Expected<size_t> getDimSlot(BindContext &context, llvm::StringRef slot, size_t rank) {
  llvm::Expected<int64_t> given = context.attrs().getInt(slot);
  if (!given)
    return given.takeError();
  int64_t limit = static_cast<int64_t>(std::max<size_t>(rank, 1)), dim = *given < 0 ? *given + limit : *given;
  if (dim < 0 || dim >= limit)
    return context.fail("dimension {0} is out of range for rank {1}", *given, rank);
  return static_cast<size_t>(dim);
}

llvm::Expected<TensorType> getStaticType(BindContext &context, const ValueType &value) {
  const TensorType *type = value.getTensor();
  if (!type || !type->isStatic())
    return context.fail("the shape of its result is not known before it runs");
  return *type;
}

/// `to` and its relatives: the same dtype is the same tensor.
llvm::Expected<RuntimeValue> bindTo(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<View> converted = castTo(context, *input, type->dtype);
  if (!converted)
    return converted.takeError();
  return RuntimeValue(*converted);
}

} // namespace qfx::runtime
