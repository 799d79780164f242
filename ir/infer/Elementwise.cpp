// Rules of elementwise operators on one tensor.
#include "ir/InferDetail.h"
#include "ir/OpKind.h"

namespace qfx {

/// Rule `<op>_dtype`: PyTorch has no kernel for integers here.
static llvm::Error checkFloat(const InferContext &context, const TensorType &type) {
  if (isFloat(type.dtype))
    return llvm::Error::success();
  return context.fail("dtype", "wants a floating-point tensor, got {0}", toString(type));
}

/// A quantized input is kept only by operators that say so and only per tensor; an operator that changes nothing keeps any.
static llvm::Error checkQuantized(const InferContext &context, const TensorType &type) {
  const OpInfo &op = *context.getCall().op;
  if (!isQuantized(type.dtype) || op.has(Traits::Identity) || op.has(Traits::Observes))
    return llvm::Error::success();
  if (!op.has(Traits::KeepsQuantizer))
    return checkNotQuantized(context, type, "input");
  return checkNotPerChannel(context, type);
}

llvm::Expected<ValueType> inferSame(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkQuantized(context, input))
    return err;
  return ValueType(input);
}

/// Whatever comes in: tensors, numbers, tuples.
llvm::Expected<ValueType> inferValue(const InferContext &context) { return context.getValue("input"); }

llvm::Expected<ValueType> inferFloatSame(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkQuantized(context, input))
    return err;
  if (llvm::Error err = checkFloat(context, input))
    return err;
  return ValueType(input);
}

llvm::Expected<ValueType> inferFloatOrKept(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkQuantized(context, input))
    return err;
  if (!isQuantized(input.dtype))
    if (llvm::Error err = checkFloat(context, input))
      return err;
  return ValueType(input);
}

/// PyTorch's quantized gelu makes its result with the input's scale narrowed to float32.
llvm::Expected<ValueType> inferGelu(const InferContext &context) {
  QFX_TRY(result, inferFloatOrKept(context));
  TensorType type = *result.getTensor();
  if (type.quantizer)
    type.quantizer = std::make_shared<const Quantizer>(
        Quantizer::perTensor(static_cast<float>(type.quantizer->getScale()), type.quantizer->getZeroPoint()));
  return ValueType(type);
}

/// Integers become float32 (torch.exp of an int tensor).
llvm::Expected<ValueType> inferFloatFunction(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  if (!isFloat(input.dtype))
    input.dtype = DType::Float32;
  return ValueType(input);
}

/// abs, neg, floor ...: the same dtype; `operator.neg` of a host number is a host number.
llvm::Expected<ValueType> inferUnary(const InferContext &context) {
  ValueType value = context.getValue("input");
  bool negates = context.getCall().op->kind == OpKind::Neg;
  if (const Dim *dim = value.getDim(); dim && negates)
    return ValueType(multiplyDims(*dim, Dim(-1)));
  if (const DataNumber *number = value.getDataNumber(); number && negates)
    return ValueType(DataNumber{number->kind == DTypeKind::Float ? DTypeKind::Float : DTypeKind::Integer});
  if (const Argument *number = value.getHost(); number && number->isNumber() && negates)
    return ValueType::host(-number->getNumber());
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  return ValueType(input);
}

/// Rule `hardtanh_range`: min_val <= max_val.
llvm::Expected<ValueType> inferHardtanh(const InferContext &context) {
  std::optional<double> low = context.findNumber("min_val"), high = context.findNumber("max_val");
  if (low && high && *low > *high)
    return context.fail("range", "wants min_val <= max_val, got {0} and {1}", *low, *high);
  return inferSame(context);
}

/// Quantized: parameters fixed by the function (operators 7); integers become float32.
static llvm::Expected<ValueType> inferFixed(const InferContext &context, QuantizerRef (*getFixed)(DType)) {
  QFX_TRY(input, context.getTensor("input"));
  if (isQuantized(input.dtype)) {
    if (llvm::Error err = checkNotPerChannel(context, input))
      return err;
    input.quantizer = getFixed(input.dtype);
    return ValueType(input);
  }
  if (context.getCall().op->kind == OpKind::Hardsigmoid) {
    if (llvm::Error err = checkFloat(context, input))
      return err;
  } else if (!isFloat(input.dtype)) {
    input.dtype = DType::Float32;
  }
  return ValueType(input);
}

llvm::Expected<ValueType> inferFixedUnit(const InferContext &context) { return inferFixed(context, getUnitQuantizer); }
llvm::Expected<ValueType> inferFixedTanh(const InferContext &context) { return inferFixed(context, getTanhQuantizer); }

/// Rule `prelu_weight`: one slope, or one per channel (dimension 1).
llvm::Expected<ValueType> inferPrelu(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(weight, context.getTensor("weight"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  Dim slopes = multiplyAll(weight.shape), channels = input.getRank() > 1 ? input.shape[1] : Dim(1);
  if (slopes != Dim(1) && !slopes.mayEqual(channels))
    return context.fail("weight", "wants 1 slope or one for each of {0} channels, got {1}", channels, slopes);
  return ValueType(input);
}

/// The dimension softmax uses when none is given (operators 13.1).
static int64_t getLegacyDim(size_t rank) { return rank == 0 || rank == 1 || rank == 3 ? 0 : 1; }

/// Rule `softmax_dim`, and `softmax_dtype`: integers need a dtype argument.
llvm::Expected<ValueType> inferSoftmax(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  int64_t dim = getLegacyDim(input.getRank());
  if (context.hasValue("dim")) {
    QFX_TRY(given, context.getInt("dim"));
    dim = given;
  }
  QFX_TRY(wrapped, wrapDim(context, dim, input.getRank()));
  (void)wrapped;
  ValueType wanted = context.getValue("dtype");
  if (const Argument *dtype = wanted.getHost(); dtype && dtype->isDType())
    input.dtype = dtype->getDType();
  if (llvm::Error err = checkFloat(context, input))
    return err;
  return ValueType(input);
}

/// Rule `glu_size`: the dimension splits into two halves.
llvm::Expected<ValueType> inferGlu(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  QFX_TRY(given, context.getInt("dim"));
  QFX_TRY(dim, wrapDim(context, given, input.getRank()));
  if (input.shape.empty())
    return context.fail("size", "wants at least one dimension, got a scalar");
  Dim &size = input.shape[dim];
  if (size.isStatic() && size.getValue() % 2)
    return context.fail("size", "wants an even size along dimension {0}, got {1}", given, size);
  size = size.dividedBy(Dim(2));
  return ValueType(input);
}

/// Rule `clamp_bounds`: at least one bound; a quantized input takes numbers only.
llvm::Expected<ValueType> inferClamp(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (!context.hasValue("min") && !context.hasValue("max"))
    return context.fail("bounds", "wants at least one of 'min' and 'max'");
  if (llvm::Error err = checkQuantized(context, input))
    return err;
  ResultType dtype;
  dtype.addTensor(input);
  for (llvm::StringRef bound : {"min", "max"}) {
    ValueType value = context.getValue(bound);
    if (const TensorType *tensor = value.getTensor()) {
      if (isQuantized(input.dtype))
        return context.fail("bounds", "wants a number for '{0}' of a quantized tensor, got {1}", bound, toString(*tensor));
      QFX_TRY(shape, broadcastShapes(context, input.shape, tensor->shape));
      input.shape = shape;
      dtype.addTensor(*tensor);
    } else if (std::optional<DTypeKind> number = value.getNumberKind()) {
      dtype.addNumber(*number);
    }
  }
  if (!isQuantized(input.dtype))
    input.dtype = dtype.get();
  return ValueType(input);
}

/// Rule `masked_fill_mask`: a bool mask that broadcasts with the input.
llvm::Expected<ValueType> inferMaskedFill(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(mask, context.getTensor("mask"));
  if (llvm::Error err = checkQuantized(context, input))
    return err;
  if (mask.dtype != DType::Bool)
    return context.fail("mask", "wants a bool mask, got {0}", toString(mask));
  QFX_TRY(shape, broadcastShapes(context, input.shape, mask.shape));
  input.shape = shape;
  return ValueType(input);
}

} // namespace qfx
