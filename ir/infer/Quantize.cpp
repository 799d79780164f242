// Rules of quantize, dequantize and their kin.
#include "ir/InferDetail.h"

#include <cmath>

namespace qfx {

/// The dtype argument.  Rule `<op>_dtype`: one of the quantized dtypes.
static llvm::Expected<DType> getQuantizedDType(const InferContext &context) {
  ValueType value = context.getValue("dtype");
  const Argument *dtype = value.getHost();
  if (dtype && dtype->isDType() && isQuantized(dtype->getDType()))
    return dtype->getDType();
  return context.fail("dtype", "wants a quantized dtype, got {0}",
                      dtype ? toString(*dtype, ArgumentStyle::Qfx) : std::string("an unknown one"));
}

/// Rule `<op>_input`: a float32 tensor.
static llvm::Error checkFloat32(const InferContext &context, const TensorType &type) {
  if (type.dtype == DType::Float32)
    return llvm::Error::success();
  return context.fail("input", "wants a float32 tensor, got {0}", toString(type));
}

/// A tensor, or a list of tensors with one scale and zero point each (which are then known only at run time).
llvm::Expected<ValueType> inferQuantizePerTensor(const InferContext &context) {
  QFX_TRY(dtype, getQuantizedDType(context));
  ValueType value = context.getValue("input");
  if (const auto *sequence = value.getSequence()) {
    std::vector<ValueType> results;
    for (const ValueType &element : sequence->elements) {
      const TensorType *tensor = element.getTensor();
      if (!tensor)
        return context.fail("input", "wants a tensor or a list of tensors");
      if (llvm::Error err = checkFloat32(context, *tensor))
        return err;
      TensorType result = *tensor;
      result.dtype = dtype;
      results.push_back(result);
    }
    return ValueType::sequence(Argument::Kind::Tuple, std::move(results));
  }
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkFloat32(context, input))
    return err;
  QFX_TRY(quantizer, getQuantizer(context, dtype, "scale", "zero_point"));
  input.dtype = dtype;
  input.quantizer = quantizer;
  return ValueType(input);
}

/// `input` as codes of `dtype` with parameters per channel, unknown ones where their tensors are.  Rules `<op>_axis` (inside the tensor; 0 or 1 for
/// channels_last), `<op>_count` (one scale and zero point per channel), `<op>_scale` (known scales are finite and > 0), `<op>_zero_point` (known
/// ones fit the dtype).  A floating-point zero point tensor selects the float-qparams scheme.
static llvm::Expected<ValueType> makePerChannel(const InferContext &context, TensorType input, DType dtype) {
  QFX_TRY(axis, context.getInt("axis"));
  if (axis < 0 || axis >= static_cast<int64_t>(input.getRank()))
    return context.fail("axis", "has no axis {0} in a tensor of rank {1}", axis, input.getRank());
  QFX_TRY(scales, context.getTensor("scales"));
  QFX_TRY(zeroPoints, context.getTensor("zero_points"));
  const Dim &channels = input.shape[axis];
  for (const TensorType *qparams : {&scales, &zeroPoints})
    if (!multiplyAll(qparams->shape).mayEqual(channels))
      return context.fail("count", "wants {0} scales and zero points along axis {1}, got {2} and {3}", channels, axis,
                          multiplyAll(scales.shape), multiplyAll(zeroPoints.shape));
  input.dtype = dtype;
  input.quantizer = nullptr;
  const Tensor *scaleData = context.getConstantTensor("scales"), *zeroPointData = context.getConstantTensor("zero_points");
  if (!scaleData || !zeroPointData || !channels.isStatic())
    return ValueType(input);
  const DTypeInfo &info = getDTypeInfo(toUnderlyingDType(dtype));
  std::vector<double> scaleValues;
  std::vector<int64_t> zeroPointValues;
  std::vector<float> floatScales, floatZeroPoints;
  for (int64_t i = 0; i < scaleData->getNumElements(); ++i) {
    double scale = scaleData->getElementAsDouble(i), zeroPoint = zeroPointData->getElementAsDouble(i);
    if (!(scale > 0 && std::isfinite(scale)))
      return context.fail("scale", "wants finite scales > 0, got {0} for channel {1}", scale, i);
    if (isFloat(zeroPoints.dtype) ? !std::isfinite(zeroPoint) : !(zeroPoint >= info.codeMin && zeroPoint <= info.codeMax))
      return context.fail("zero_point", "wants zero points in {0}..{1} for {2}, got {3} for channel {4}", info.codeMin, info.codeMax,
                          getDTypeInfo(dtype).torchName, zeroPoint, i);
    scaleValues.push_back(scale);
    floatScales.push_back(static_cast<float>(scale));
    floatZeroPoints.push_back(static_cast<float>(zeroPoint));
    zeroPointValues.push_back(isFloat(zeroPoints.dtype) ? 0 : static_cast<int64_t>(zeroPoint));
  }
  input.quantizer = std::make_shared<const Quantizer>(
      isFloat(zeroPoints.dtype)
          ? Quantizer::perChannelFloat(std::move(floatScales), std::move(floatZeroPoints), axis)
          : Quantizer::perChannel(std::move(scaleValues), std::move(zeroPointValues), axis));
  return ValueType(input);
}

llvm::Expected<ValueType> inferQuantizePerChannel(const InferContext &context) {
  QFX_TRY(dtype, getQuantizedDType(context));
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkFloat32(context, input))
    return err;
  return makePerChannel(context, input, dtype);
}

/// Integers as codes.  Rule `<op>_input`: uint8, int8 or int32.
static llvm::Expected<DType> getCodeDType(const InferContext &context, const TensorType &input) {
  for (DType dtype : {DType::QUInt8, DType::QInt8, DType::QInt32})
    if (input.dtype == toUnderlyingDType(dtype))
      return dtype;
  return context.fail("input", "wants a uint8, int8 or int32 tensor, got {0}", toString(input));
}

/// Rules `make_per_tensor_quantized_input`, `..._scale`, `..._zero_point`.
llvm::Expected<ValueType> inferMakePerTensorQuantized(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(dtype, getCodeDType(context, input));
  QFX_TRY(quantizer, getQuantizer(context, dtype, "scale", "zero_point"));
  input.dtype = dtype;
  input.quantizer = quantizer;
  return ValueType(input);
}

/// Rules `make_per_channel_quantized_input` and those of makePerChannel.
llvm::Expected<ValueType> inferMakePerChannelQuantized(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(dtype, getCodeDType(context, input));
  return makePerChannel(context, input, dtype);
}

/// Rules `<op>_size` (sizes >= 0), `<op>_dtype`, `<op>_format`.
static llvm::Expected<TensorType> makeEmpty(const InferContext &context, DType dtype) {
  TensorType result;
  result.dtype = dtype;
  QFX_TRY(sizes, context.getDims("size"));
  result.shape.assign(sizes.begin(), sizes.end());
  for (const Dim &size : result.shape)
    if (size.getFactor() < 0)
      return context.fail("size", "wants sizes >= 0, got {0}", toString(result.shape));
  if (llvm::Error err = applyFormat(context, context.getValue("memory_format"), result))
    return err;
  return result;
}

llvm::Expected<ValueType> inferEmptyAffineQuantized(const InferContext &context) {
  QFX_TRY(dtype, getQuantizedDType(context));
  QFX_TRY(result, makeEmpty(context, dtype));
  QFX_TRY(quantizer, getQuantizer(context, dtype, "scale", "zero_point"));
  result.quantizer = quantizer;
  return ValueType(result);
}

llvm::Expected<ValueType> inferEmptyPerChannelQuantized(const InferContext &context) {
  QFX_TRY(dtype, getQuantizedDType(context));
  QFX_TRY(result, makeEmpty(context, dtype));
  return makePerChannel(context, result, dtype);
}

/// (scale, zero point) of a tensor's range.  Rules `choose_qparams_input` (no quantized tensor, at least one element).
llvm::Expected<ValueType> inferChooseQparams(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (isQuantized(input.dtype))
    return context.fail("input", "wants floats or integers, got {0}", toString(input));
  if (countElements(input.shape) == 0)
    return context.fail("input", "finds no range in the empty tensor {0}", toString(input));
  return ValueType::sequence(Argument::Kind::Tuple, {DataNumber{DTypeKind::Float}, DataNumber{DTypeKind::Integer}});
}

/// Parameters are chosen when run; dtype float16 rounds to half.  Rule `quantize_dynamic_dtype`.
llvm::Expected<ValueType> inferQuantizeDynamic(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkFloat32(context, input))
    return err;
  ValueType value = context.getValue("dtype");
  const Argument *dtype = value.getHost();
  bool isHalf = dtype && dtype->isDType() && dtype->getDType() == DType::Float16;
  if (isHalf) {
    input.dtype = DType::Float16;
    return ValueType(input);
  }
  QFX_TRY(quantized, getQuantizedDType(context));
  input.dtype = quantized;
  input.quantizer = nullptr;
  return ValueType(input);
}

/// float32 of the same shape; lists and tuples element by element; a float tensor gives itself as float32.
llvm::Expected<ValueType> inferDequantize(const InferContext &context) {
  ValueType value = context.getValue("input");
  auto dequantize = [](const TensorType &type) {
    TensorType result = type;
    result.dtype = DType::Float32;
    result.quantizer = nullptr;
    return result;
  };
  const auto *sequence = value.getSequence();
  if (!sequence) {
    QFX_TRY(input, context.getTensor("input"));
    return ValueType(dequantize(input));
  }
  std::vector<ValueType> results;
  for (const ValueType &element : sequence->elements) {
    const TensorType *tensor = element.getTensor();
    if (!tensor)
      return context.fail("input", "wants a tensor or a list of tensors");
    results.push_back(dequantize(*tensor));
  }
  return ValueType::sequence(sequence->kind, std::move(results));
}

/// The codes as plain integers.  Rule `int_repr_input`: a quantized tensor.
llvm::Expected<ValueType> inferIntRepr(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (!isQuantized(input.dtype))
    return context.fail("input", "wants a quantized tensor, got {0}", toString(input));
  unsigned bits = getDTypeInfo(input.dtype).bits;
  if (bits < 8) { // packed codes come as raw bytes, flat (operators 2.1)
    Dim count = multiplyAll(input.shape);
    int64_t perByte = 8 / bits;
    input.shape.assign(1, count.isStatic() ? Dim((count.getValue() + perByte - 1) / perByte) : Dim::unknown());
    input.format = MemoryFormat::Contiguous;
  }
  input.dtype = toUnderlyingDType(input.dtype);
  input.quantizer = nullptr;
  return ValueType(input);
}

} // namespace qfx
