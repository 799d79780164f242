// Rules of elementwise operators on quantized tensors (operators 6 and 7).
#include "ir/InferDetail.h"
#include "ir/OpKind.h"

#include <cmath>

namespace qfx {

/// Parameters are kept; per-tensor input.
llvm::Expected<ValueType> inferQuantizedKept(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkPerTensor(context, input, "input"))
    return err;
  return ValueType(input);
}

/// Parameters from the slots output_scale and output_zero_point; without them the input's (leaky_relu of operators 14).
/// Rule `<op>_qparams`: both or none.
llvm::Expected<ValueType> inferQuantizedSame(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkPerTensor(context, input, "input"))
    return err;
  if (context.hasValue("output_scale") != context.hasValue("output_zero_point"))
    return context.fail("qparams", "wants both a scale and a zero point, or neither");
  if (!context.hasValue("output_scale"))
    return ValueType(input);
  QFX_TRY(quantizer, getQuantizer(context, input.dtype, "output_scale", "output_zero_point"));
  input.quantizer = quantizer;
  return ValueType(input);
}

/// Rule `quantized_leaky_relu_inplace`: what is written in place keeps its parameters (operators 14).
llvm::Expected<ValueType> inferQuantizedLeakyRelu(const InferContext &context) {
  QFX_TRY(writes, context.getBool("inplace"));
  if (writes && context.hasValue("output_scale"))
    return context.fail("inplace", "cannot rescale with 'inplace'");
  return inferQuantizedSame(context);
}

/// Rule `quantized_softmax_dim`; without one the legacy rule of float softmax.
llvm::Expected<ValueType> inferQuantizedSoftmax(const InferContext &context) {
  QFX_TRY(result, inferQuantizedSame(context));
  if (context.hasValue("dim")) {
    QFX_TRY(dim, context.getInt("dim"));
    auto wrapped = wrapDim(context, dim, result.getTensor()->getRank());
    if (!wrapped)
      return wrapped.takeError();
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

/// x + c on codes of (scale, zeroPoint): the addend snaps to a multiple of the scale and moves the zero point; where
/// that leaves the code range, the scale widens (operators 6).
static Quantizer addNumber(const Quantizer &input, const DTypeInfo &info, double addend) {
  double scale = input.getScale(), low = static_cast<double>(info.codeMin), high = static_cast<double>(info.codeMax);
  double moved = static_cast<double>(input.getZeroPoint()) - std::nearbyint(addend / scale);
  if (moved < low)
    return Quantizer::perTensor((high - moved) / (high - low) * scale, info.codeMin);
  if (moved > high)
    return Quantizer::perTensor((moved - low) / (high - low) * scale, info.codeMax);
  return Quantizer::perTensor(scale, static_cast<int64_t>(moved));
}

/// x * c: the scale takes the factor; a negative one mirrors the codes, zero makes them all zero (operators 6).
static Quantizer multiplyNumber(const Quantizer &input, const DTypeInfo &info, double factor) {
  if (factor == 0)
    return Quantizer::perTensor(1.0, 0);
  if (factor > 0)
    return Quantizer::perTensor(factor * input.getScale(), input.getZeroPoint());
  return Quantizer::perTensor(-factor * input.getScale(), info.codeMax - (input.getZeroPoint() - info.codeMin));
}

/// The result of a quantized tensor and a number; parameters unknown if either is.
static TensorType combineWithNumber(const InferContext &context, const TensorType &input,
                                    std::optional<double> number) {
  OpKind kind = context.getCall().op->kind;
  bool isAdd = kind == OpKind::QuantizedAdd || kind == OpKind::QuantizedAddRelu;
  TensorType result = input;
  result.quantizer = nullptr;
  if (!input.quantizer || !number || !std::isfinite(*number))
    return result;
  const DTypeInfo &info = getDTypeInfo(input.dtype);
  result.quantizer = std::make_shared<const Quantizer>(isAdd ? addNumber(*input.quantizer, info, *number)
                                                             : multiplyNumber(*input.quantizer, info, *number));
  return result;
}

/// Rules `<op>_input` (at least one quantized tensor), `<op>_dtype` (one dtype), `<op>_broadcast`, `<op>_qparams` (two
/// tensors need output parameters).
llvm::Expected<ValueType> inferQuantizedBinary(const InferContext &context) {
  ValueType left = context.getValue("input"), right = context.getValue("other");
  const TensorType *a = left.getTensor(), *b = right.getTensor();
  bool isLeft = a && isQuantized(a->dtype), isRight = b && isQuantized(b->dtype);
  if (!isLeft && !isRight)
    return context.fail("input", "wants at least one quantized tensor");
  for (const TensorType *operand : {a, b})
    if (operand && isQuantized(operand->dtype))
      if (llvm::Error err = checkPerTensor(context, *operand, operand == a ? "input" : "other"))
        return err;
  if (!isLeft || !isRight) {
    const TensorType *other = isLeft ? b : a;
    if (other && multiplyAll(other->shape) != Dim(1))
      return context.fail("input", "wants a quantized tensor or a number as the other operand, got {0}",
                          toString(*other));
    return ValueType(combineWithNumber(context, isLeft ? *a : *b, context.findNumber(isLeft ? "other" : "input")));
  }
  if (a->dtype != b->dtype)
    return context.fail("dtype", "wants operands of one dtype, got {0} and {1}", toString(*a), toString(*b));
  if (!context.hasValue("output_scale") || !context.hasValue("output_zero_point"))
    return context.fail("qparams", "wants a scale and a zero point for the result of two tensors");
  QFX_TRY(shape, broadcastShapes(context, a->shape, b->shape));
  QFX_TRY(quantizer, getQuantizer(context, a->dtype, "output_scale", "output_zero_point"));
  TensorType result = *a;
  result.shape = shape;
  result.format = fitFormat(a->format, shape.size());
  result.quantizer = quantizer;
  return ValueType(result);
}

} // namespace qfx
