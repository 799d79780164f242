// Rules of operators that make tensors from sizes and numbers.
#include "ir/InferDetail.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace qfx {

static std::optional<DType> getDTypeArgument(const InferContext &context) {
  ValueType value = context.getValue("dtype");
  const Argument *dtype = value.getHost();
  return dtype && dtype->isDType() ? std::optional<DType>(dtype->getDType()) : std::nullopt;
}

/// The dtype of a Python number: bool, int64 or float32.
static DType getNumberDType(const ValueType &value) {
  const Argument *host = value.getHost();
  return host && host->isBool() ? DType::Bool : host && host->isFloat() ? DType::Float32 : DType::Int64;
}

/// Rule `<op>_size`: sizes >= 0.
static llvm::Expected<TensorType> makeSized(const InferContext &context, DType dtype) {
  TensorType result;
  result.dtype = dtype;
  auto sizes = context.getDims("size");
  if (!sizes)
    return sizes.takeError();
  for (const Dim &size : *sizes) {
    if (size.getFactor() < 0)
      return context.fail("size", "wants sizes >= 0, got {0}", toString(*sizes));
    result.shape.push_back(size);
  }
  return result;
}

llvm::Expected<ValueType> inferFilled(const InferContext &context) {
  bool hasValue = context.getCall().find("fill_value");
  DType fallback = hasValue ? getNumberDType(context.getValue("fill_value")) : DType::Float32;
  QFX_TRY(result, makeSized(context, getDTypeArgument(context).value_or(fallback)));
  return ValueType(result);
}

llvm::Expected<ValueType> inferLike(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  input.dtype = getDTypeArgument(context).value_or(input.dtype);
  return ValueType(input);
}

llvm::Expected<ValueType> inferNew(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  QFX_TRY(result, makeSized(context, getDTypeArgument(context).value_or(input.dtype)));
  return ValueType(result);
}

/// Rules `arange_bounds` (one to three numbers) and `arange_step` (not 0, towards the end).
llvm::Expected<ValueType> inferArange(const InferContext &context) {
  ValueType bounds = context.getValue("bounds");
  std::vector<ValueType> numbers;
  if (const auto *sequence = bounds.getSequence())
    numbers = sequence->elements;
  else
    numbers.push_back(bounds);
  if (numbers.empty() || numbers.size() > 3)
    return context.fail("bounds", "wants end, start and end, or start, end and step, got {0} numbers", numbers.size());
  TensorType result;
  result.dtype = DType::Int64;
  llvm::SmallVector<double, 3> values;
  bool isKnown = true;
  for (const ValueType &number : numbers) {
    const Argument *host = number.getHost();
    if (!number.getDim() && !number.isUnknown() && !(host && host->isNumber()))
      return context.fail("bounds", "wants numbers");
    if (host && host->isFloat())
      result.dtype = DType::Float32;
    std::optional<Argument> constant = number.getConstant();
    isKnown &= constant.has_value();
    values.push_back(constant ? constant->getNumber() : 0);
  }
  result.dtype = getDTypeArgument(context).value_or(result.dtype);
  if (!isKnown) {
    const Dim *end = numbers.size() == 1 ? numbers[0].getDim() : nullptr;
    result.shape.push_back(end ? *end : Dim::unknown());
    return ValueType(result);
  }
  double start = values.size() > 1 ? values[0] : 0, end = values.size() > 1 ? values[1] : values[0];
  double step = values.size() > 2 ? values[2] : 1;
  if (step == 0 || !std::isfinite(start) || !std::isfinite(end) || !std::isfinite(step) || (end - start) / step < 0)
    return context.fail("step", "wants finite bounds and a step that leads from {0} to {1}, got {2}", start, end, step);
  double count = std::ceil((end - start) / step);
  if (count > 0x1p40)
    return context.fail("bounds", "would make {0} elements", count);
  result.shape.push_back(Dim(static_cast<int64_t>(count)));
  return ValueType(result);
}

/// Rule `linspace_steps`: at least 0.
llvm::Expected<ValueType> inferLinspace(const InferContext &context) {
  QFX_TRY(steps, context.getInt("steps"));
  if (steps < 0)
    return context.fail("steps", "wants steps >= 0, got {0}", steps);
  TensorType result;
  result.dtype = getDTypeArgument(context).value_or(DType::Float32);
  result.shape.push_back(Dim(steps));
  return ValueType(result);
}

/// Rule `eye_size`: sizes >= 0.
llvm::Expected<ValueType> inferEye(const InferContext &context) {
  TensorType result;
  result.dtype = getDTypeArgument(context).value_or(DType::Float32);
  for (llvm::StringRef slot : {"n", context.hasValue("m") ? "m" : "n"}) {
    auto dims = context.getDims(slot);
    if (!dims)
      return dims.takeError();
    if (dims->front().getFactor() < 0)
      return context.fail("size", "wants sizes >= 0, got {0}", dims->front());
    result.shape.push_back(dims->front());
  }
  return ValueType(result);
}

llvm::Expected<ValueType> inferScalarTensor(const InferContext &context) {
  TensorType result;
  result.dtype = getDTypeArgument(context).value_or(DType::Float32);
  return ValueType(result);
}

/// Adds the sizes of nested lists of numbers to `shape`.  \returns false if they are ragged or hold anything else.
static bool readNested(const Argument &data, size_t depth, Shape &shape, ResultType &dtype) {
  if (data.isNumber()) {
    dtype.addNumber(*ValueType::host(data).getNumberKind());
    return depth == shape.size();
  }
  if (!data.isSequence())
    return false;
  const Dim size(static_cast<int64_t>(data.getElements().size()));
  if (depth == shape.size())
    shape.push_back(size);
  if (shape[depth] != size)
    return false;
  return llvm::all_of(data.getElements(), [&](const Argument &one) { return readNested(one, depth + 1, shape, dtype); });
}

/// Rule `tensor_of_data`: numbers known before running, in lists of equal sizes.
llvm::Expected<ValueType> inferTensorOf(const InferContext &context) {
  std::optional<Argument> data = context.getValue("data").getConstant();
  TensorType result;
  ResultType dtype;
  if (!data || !readNested(*data, 0, result.shape, dtype))
    return context.fail("data", "wants known numbers, or lists of them of equal sizes");
  result.dtype = getDTypeArgument(context).value_or(dtype.get());
  if (isQuantized(result.dtype))
    return context.fail("dtype", "makes no quantized tensors, got {0}", getDTypeInfo(result.dtype).torchName);
  return ValueType(result);
}

/// Rule `one_hot_classes`: a known number of classes.
llvm::Expected<ValueType> inferOneHot(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (input.dtype != DType::Int64)
    return context.fail("dtype", "wants int64 classes, got {0}", toString(input));
  QFX_TRY(classes, context.getInt("num_classes"));
  if (classes < 1)
    return context.fail("classes", "wants num_classes > 0 (the largest class is known only at run time), got {0}", classes);
  input.shape.push_back(Dim(classes));
  return ValueType(input);
}

} // namespace qfx
