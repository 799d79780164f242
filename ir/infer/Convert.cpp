// Rules of operators that change a tensor's dtype or memory format, and of questions about tensors.
#include "ir/InferDetail.h"

#include <cmath>

namespace qfx {

llvm::Error applyFormat(const InferContext &context, const ValueType &wanted, TensorType &type) {
  const Argument *format = wanted.getHost();
  if (!format || format->isNone())
    return llvm::Error::success();
  if (format->getKind() != Argument::Kind::MemoryFormat)
    return context.fail("format", "wants a memory format, got {0}", toString(*format, ArgumentStyle::Qfx));
  MemoryFormat value = format->getMemoryFormat();
  if (value == MemoryFormat::Preserve)
    return llvm::Error::success();
  if (fitFormat(value, type.getRank()) != value)
    return context.fail("format", "cannot give a tensor of rank {0} the format {1}", type.getRank(),
                        getMemoryFormatName(value));
  type.format = value;
  return llvm::Error::success();
}

llvm::Expected<ValueType> inferContiguous(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = applyFormat(context, context.getValue("memory_format"), input))
    return err;
  return ValueType(input);
}

/// Positional options of `to`: a dtype, a device, another tensor (its dtype), flags.  Rule `to_quantized`: quantized tensors keep their
/// dtype (dequantize first); `to_dtype`: no conversion makes a quantized tensor.
llvm::Expected<ValueType> inferTo(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  std::optional<DType> dtype;
  auto take = [&](const ValueType &option) {
    if (const TensorType *other = option.getTensor())
      dtype = other->dtype;
    else if (const Argument *host = option.getHost(); host && host->isDType())
      dtype = host->getDType();
  };
  ValueType options = context.getValue("options");
  if (const auto *sequence = options.getSequence())
    for (const ValueType &option : sequence->elements)
      take(option);
  take(context.getValue("dtype"));
  take(context.getValue("other"));
  if (dtype && *dtype != input.dtype) {
    if (isQuantized(input.dtype))
      return context.fail("quantized", "cannot convert {0} to {1}; dequantize first", toString(input),
                          getDTypeInfo(*dtype).torchName);
    if (isQuantized(*dtype))
      return context.fail("dtype", "cannot convert {0} to {1}; quantize instead", toString(input),
                          getDTypeInfo(*dtype).torchName);
    input.dtype = *dtype;
  }
  if (llvm::Error err = applyFormat(context, context.getValue("memory_format"), input))
    return err;
  return ValueType(input);
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

static ValueType getShapeValue(const TensorType &type) {
  return ValueType::sequence(Argument::Kind::Tuple, std::vector<ValueType>(type.shape.begin(), type.shape.end()));
}

llvm::Expected<ValueType> inferSize(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (!context.hasValue("dim"))
    return getShapeValue(input);
  QFX_TRY(given, context.getInt("dim"));
  QFX_TRY(dim, wrapDim(context, given, input.getRank()));
  if (input.shape.empty())
    return context.fail("dim", "has no dimension {0} in a scalar", given);
  return ValueType(input.shape[dim]);
}

llvm::Expected<ValueType> inferShape(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  return getShapeValue(input);
}

llvm::Expected<ValueType> inferRank(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  return ValueType(Dim(static_cast<int64_t>(input.getRank())));
}

llvm::Expected<ValueType> inferNumElements(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  return ValueType(multiplyAll(input.shape));
}

/// Rule `get_attribute_name`: shape, ndim, dtype, device, is_quantized, requires_grad; T, H, mT and mH, which the runtime writes as t and
/// transpose.
llvm::Expected<ValueType> inferGetAttribute(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  const std::string &name = context.getCall().get("name").arg.getString();
  if (name == "shape")
    return getShapeValue(input);
  if (name == "ndim")
    return ValueType(Dim(static_cast<int64_t>(input.getRank())));
  if (name == "dtype")
    return ValueType::host(input.dtype);
  if (name == "device")
    return ValueType::host(Argument::device("cpu"));
  if (name == "is_quantized")
    return ValueType::host(isQuantized(input.dtype));
  if (name == "requires_grad")
    return ValueType::host(false);
  if (name == "T" || name == "H" || name == "mT" || name == "mH") {
    const size_t rank = input.getRank();
    const bool fits = name == "T" ? rank <= 2 : name == "H" ? rank == 2 || rank == 0 : rank >= 2;
    if (!fits)
      return context.fail("rank", "wants a tensor of rank {0} for '{1}', got {2}", name == "T" ? "<= 2" : name == "H" ? "2 or 0" : ">= 2", name,
                          toString(input));
    if (isQuantized(input.dtype))
      if (llvm::Error err = checkPerTensor(context, input, "input"))
        return err;
    if (rank >= 2)
      std::swap(input.shape[rank - 1], input.shape[rank - 2]);
    input.format = MemoryFormat::Contiguous;
    return ValueType(input);
  }
  return context.fail("name", "knows shape, ndim, dtype, device, is_quantized, requires_grad, T, H, mT and mH of a tensor, got '{0}'", name);
}

/// Element `i` as a Python number: itself where the tensor is known before running (and a double holds it), else of its kind.
static ValueType getElement(const TensorType &type, const Tensor *known, int64_t i) {
  const DTypeKind kind = isQuantized(type.dtype) ? DTypeKind::Float : getDTypeInfo(type.dtype).kind;
  if (!known || isQuantized(type.dtype))
    return DataNumber{kind};
  const double value = known->getElementAsDouble(i);
  if (kind == DTypeKind::Float)
    return ValueType::host(value);
  if (kind == DTypeKind::Bool)
    return ValueType::host(value != 0);
  return std::abs(value) < 0x1p53 ? ValueType(Dim(static_cast<int64_t>(value))) : DataNumber{kind};
}

/// Rule `item_elements`: a tensor of one element.
llvm::Expected<ValueType> inferItem(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (!multiplyAll(input.shape).mayEqual(Dim(1)))
    return context.fail("elements", "wants a tensor of one element, got {0}", toString(input));
  return getElement(input, context.getConstantTensor("input"), 0);
}

/// Lists in lists, by the sizes; `next` counts elements.
static ValueType nestElements(const TensorType &type, const Tensor *known, llvm::ArrayRef<int64_t> sizes, int64_t &next) {
  if (sizes.empty())
    return getElement(type, known, next++);
  std::vector<ValueType> elements;
  for (int64_t i = 0; i < sizes[0]; ++i)
    elements.push_back(nestElements(type, known, sizes.drop_front(), next));
  return ValueType::sequence(Argument::Kind::List, std::move(elements));
}

/// Rules `to_list_quantized`, `to_list_size` (at most 2^16 numbers).  A tensor of rank 0 gives its number.
llvm::Expected<ValueType> inferToList(const InferContext &context) {
  constexpr int64_t kMaxNumbers = 1 << 16;
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  if (!input.isStatic())
    return ValueType();
  if (countElements(input.shape).value_or(INT64_MAX) > kMaxNumbers)
    return context.fail("size", "would give more than {0} numbers of {1}", kMaxNumbers, toString(input));
  int64_t next = 0;
  return nestElements(input, context.getConstantTensor("input"), input.getSizes(), next);
}

/// Rules `quantizer_number_dtype`, `quantizer_number_scheme` (operators 12).  Unknown where the parameters come with the value.
llvm::Expected<ValueType> inferQuantizerNumber(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  const std::string &what = context.getCall().get("what").arg.getString();
  if (!isQuantized(input.dtype))
    return context.fail("dtype", "wants a quantized tensor for '{0}', got {1}", what, toString(input));
  if (!input.quantizer)
    return ValueType();
  const bool wantsTensor = what != "q_per_channel_axis";
  if (input.quantizer->isPerTensor() != wantsTensor)
    return context.fail("scheme", "wants a tensor quantized per {0} for '{1}', got {2}", wantsTensor ? "tensor" : "channel", what, toString(input));
  if (what == "q_scale")
    return ValueType::host(Argument(input.quantizer->getScale()));
  return ValueType::host(Argument(what == "q_zero_point" ? input.quantizer->getZeroPoint() : static_cast<int64_t>(input.quantizer->getAxis())));
}

llvm::Expected<ValueType> inferLength(const InferContext &context) {
  ValueType input = context.getValue("input");
  if (const auto *sequence = input.getSequence())
    return ValueType(Dim(static_cast<int64_t>(sequence->elements.size())));
  if (const auto *dict = input.getDictionary())
    return ValueType(Dim(static_cast<int64_t>(dict->entries.size())));
  QFX_TRY(tensor, context.getTensor("input"));
  if (tensor.shape.empty())
    return context.fail("input", "wants a tensor of rank >= 1, got a scalar");
  return ValueType(tensor.shape[0]);
}

/// int(x) of a host number: towards zero.  Rule `to_int_range`.
llvm::Expected<ValueType> inferToInt(const InferContext &context) {
  ValueType input = context.getValue("input");
  if (const Dim *dim = input.getDim())
    return ValueType(*dim);
  const Argument *number = input.getHost();
  if (!number || !number->isNumber())
    return context.fail("input", "wants a host number");
  double value = std::trunc(number->getNumber());
  if (!(std::abs(value) < 0x1p62))
    return context.fail("range", "has no int for {0}", number->getNumber());
  return ValueType(Dim(static_cast<int64_t>(value)));
}

/// float, sqrt, floor and ceil of a host number.  Unknown while it hangs on an open size.  Rules `host_math_input`, `host_math_range`.
llvm::Expected<ValueType> inferHostMath(const InferContext &context) {
  ValueType input = context.getValue("input");
  if (const Dim *dim = input.getDim(); input.isUnknown() || (dim && !dim->isStatic()))
    return ValueType();
  std::optional<Argument> number = input.getConstant();
  if (!number || !number->isNumber())
    return context.fail("input", "wants a host number");
  const std::string &what = context.getCall().get("what").arg.getString();
  const double value = number->getNumber();
  if (what == "float")
    return ValueType::host(Argument(value));
  if (what == "sqrt") {
    if (!(value >= 0))
      return context.fail("range", "has no root of {0}", value);
    return ValueType::host(Argument(std::sqrt(value)));
  }
  const double whole = what == "floor" ? std::floor(value) : std::ceil(value);
  if (!(std::abs(whole) < 0x1p62))
    return context.fail("range", "has no int for {0}", value);
  return ValueType(Dim(static_cast<int64_t>(whole)));
}

/// None, of a condition that shapes decide.  Rules `assert_condition` (not false), `assert_host` (no tensor).
llvm::Expected<ValueType> inferAssert(const InferContext &context) {
  ValueType condition = context.getValue("condition");
  if (condition.getTensor())
    return context.fail("host", "wants a condition known from shapes, got a tensor");
  std::optional<Argument> known = condition.getConstant();
  bool isFalse = known && (known->isNone() || (known->isNumber() && known->getNumber() == 0));
  if (!isFalse)
    return ValueType::host(Argument());
  const Argument &message = context.getCall().get("message").arg;
  return context.fail("condition", "fails: {0}", message.isString() ? message.getString() : toString(message, ArgumentStyle::Qfx));
}

} // namespace qfx
