// Rules of weighted operators on packed weights: linear, convolution, embedding, and the calls that pack.
#include "ir/infer/ConvolutionDetail.h"
#include "ir/OpKind.h"
#include "ir/infer/LinearDetail.h"

namespace qfx {

/// The packed weights of slot `packed`, or the module's own tensors as if packed.  Rule `<op>_packed`.
static llvm::Expected<PackedWeights> getWeights(const InferContext &context) {
  if (context.hasValue("packed")) {
    ValueType value = context.getValue("packed");
    const PackedWeights *packed = value.getPacked();
    if (!packed)
      return context.fail("packed", "wants packed weights, got something else");
    return *packed;
  }
  PackedWeights weights;
  auto weight = context.getTensor("weight");
  if (!weight)
    return weight.takeError();
  weights.weight = *weight;
  return weights;
}

/// Rule `<op>_dtype`: quint8 activations per tensor, qint8 weights (operators 4, 5.5).
static llvm::Error checkStaticDTypes(const InferContext &context, const TensorType &input, const TensorType &weight) {
  if (llvm::Error err = checkPerTensor(context, input, "input"))
    return err;
  if (input.dtype != DType::QUInt8)
    return context.fail("dtype", "wants a quint8 input, got {0}", toString(input));
  if (weight.dtype != DType::QInt8)
    return context.fail("dtype", "wants a qint8 weight, got {0}", getDTypeInfo(weight.dtype).torchName);
  return llvm::Error::success();
}

/// Rule `<op>_dtype`: float32 activations, qint8 or float16 weights (operators 11).
static llvm::Error checkDynamicDTypes(const InferContext &context, const TensorType &input, const TensorType &weight) {
  if (input.dtype != DType::Float32)
    return context.fail("dtype", "wants a float32 input, got {0}", toString(input));
  if (weight.dtype != DType::QInt8 && weight.dtype != DType::Float16)
    return context.fail("dtype", "wants a qint8 or float16 weight, got {0}", getDTypeInfo(weight.dtype).torchName);
  return llvm::Error::success();
}

static std::optional<TensorType> getOwnBias(const InferContext &context) { return context.getOptionalTensor("bias"); }

/// quint8 [*, K] -> quint8 [*, N].  Rule `<op>_rank`: rank >= 2.
llvm::Expected<ValueType> inferQuantizedLinear(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(weights, getWeights(context));
  if (llvm::Error err = checkStaticDTypes(context, input, weights.weight))
    return err;
  if (input.getRank() < 2)
    return context.fail("rank", "wants an input of rank >= 2, got {0}", toString(input));
  QFX_TRY(result, inferLinearShape(context, input, weights.weight, getOwnBias(context)));
  if (!context.hasValue("output_scale") && !context.hasValue("output_zero_point")) {
    result.quantizer = input.quantizer; // quantized.functional.linear (operators 14)
    return ValueType(result);
  }
  QFX_TRY(quantizer, getQuantizer(context, input.dtype, "output_scale", "output_zero_point"));
  result.quantizer = quantizer;
  return ValueType(result);
}

llvm::Expected<ValueType> inferDynamicLinear(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(weights, getWeights(context));
  if (llvm::Error err = checkDynamicDTypes(context, input, weights.weight))
    return err;
  if (input.getRank() < 2)
    return context.fail("rank", "wants an input of rank >= 2, got {0}", toString(input));
  QFX_TRY(result, inferLinearShape(context, input, weights.weight, getOwnBias(context)));
  return ValueType(result);
}

/// The output shape with the packed geometry, or the module's; the batch is not optional here.  Rule `<op>_rank`.
static llvm::Expected<TensorType> inferPackedConv(const InferContext &context, const TensorType &input,
                                                  const PackedWeights &weights) {
  ConvGeometry geometry;
  geometry.spatial = getSpatialRank(context);
  if (context.hasValue("packed")) {
    geometry.stride = weights.stride;
    geometry.padding = weights.padding;
    geometry.outputPadding = weights.outputPadding;
    geometry.dilation = weights.dilation;
    geometry.groups = weights.groups;
    geometry.isTransposed = weights.isTransposed;
    geometry.outputPadding.resize(geometry.spatial, 0);
    if (geometry.stride.size() != geometry.spatial || geometry.padding.size() != geometry.spatial ||
        geometry.dilation.size() != geometry.spatial || geometry.groups < 1)
      return context.fail("packed", "wants weights packed for {0} spatial axes", geometry.spatial);
  } else {
    bool isTransposed = context.getCall().find("output_padding");
    QFX_TRY(own, readConvGeometry(context, isTransposed));
    geometry = own;
  }
  if (input.getRank() != geometry.spatial + 2)
    return context.fail("rank", "wants an input of rank {0}, got {1}", geometry.spatial + 2, toString(input));
  return inferConvShape(context, input, weights.weight, getOwnBias(context), geometry);
}

/// quint8 in and out, channels-last (operators 5).  The addend of the *_add forms: rules `<op>_quantized`, `<op>_other`
/// (the result's shape).
llvm::Expected<ValueType> inferQuantizedConv(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(weights, getWeights(context));
  if (llvm::Error err = checkStaticDTypes(context, input, weights.weight))
    return err;
  QFX_TRY(result, inferPackedConv(context, input, weights));
  if (context.getCall().find("other")) {
    QFX_TRY(other, context.getTensor("other"));
    if (llvm::Error err = checkPerTensor(context, other, "other"))
      return err;
    bool fits = other.getRank() == result.getRank();
    for (size_t i = 0; fits && i < other.getRank(); ++i)
      fits = other.shape[i].mayEqual(result.shape[i]);
    if (!fits)
      return context.fail("other", "wants an addend of shape {0}, got {1}", toString(result.shape), toString(other));
  }
  QFX_TRY(quantizer, getQuantizer(context, input.dtype, "output_scale", "output_zero_point"));
  result.quantizer = quantizer;
  result.format = getChannelsLast(result.getRank());
  return ValueType(result);
}

llvm::Expected<ValueType> inferDynamicConv(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(weights, getWeights(context));
  if (llvm::Error err = checkDynamicDTypes(context, input, weights.weight))
    return err;
  QFX_TRY(result, inferPackedConv(context, input, weights));
  result.format = getChannelsLast(result.getRank());
  return ValueType(result);
}

/// Rule `<op>_dtype`: a table of quint8 or quint4x2 (operators 10).
static llvm::Error checkTable(const InferContext &context, const TensorType &weight) {
  if (weight.dtype == DType::QUInt8 || weight.dtype == DType::QUInt4x2)
    return llvm::Error::success();
  return context.fail("dtype", "wants a quint8 or quint4x2 weight, got {0}", getDTypeInfo(weight.dtype).torchName);
}

llvm::Expected<ValueType> inferQuantizedEmbedding(const InferContext &context) {
  QFX_TRY(weights, getWeights(context));
  if (llvm::Error err = checkTable(context, weights.weight))
    return err;
  QFX_TRY(result, inferLookupShape(context, weights.weight, DType::Float32));
  return ValueType(result);
}

/// Rule `quantized_embedding_bag_mode`: bags are always summed; a module that asks for another mode is refused
/// (operators 13.4).
llvm::Expected<ValueType> inferQuantizedEmbeddingBag(const InferContext &context) {
  QFX_TRY(weights, getWeights(context));
  const Argument &mode = context.getCall().get("mode").arg;
  if (mode.isString() && mode.getString() != "sum")
    return context.fail("mode", "sums its bags, it has no mode '{0}'", mode.getString());
  if (llvm::Error err = checkTable(context, weights.weight))
    return err;
  QFX_TRY(result, inferBagShape(context, weights.weight, DType::Float32));
  return ValueType(result);
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Packed weights are read by get_attr, never called.  Rule `packed_weights_call`.
llvm::Expected<ValueType> inferPacked(const InferContext &context) {
  return context.fail("call", "cannot be called; get_attr reads packed weights");
}

/// Weight and bias as packed weights.  Rules `<op>_rank`, `<op>_dtype`, `<op>_bias` (float32, one per output channel).
static llvm::Expected<PackedWeights> pack(const InferContext &context, size_t rank, bool isTransposed) {
  PackedWeights packed;
  auto weight = context.getTensor("weight");
  if (!weight)
    return weight.takeError();
  packed.weight = *weight;
  packed.isTransposed = isTransposed;
  if (weight->getRank() != rank)
    return context.fail("rank", "wants a weight of rank {0}, got {1}", rank, toString(*weight));
  bool isHalf = context.getCall().op->kind == OpKind::LinearPrepackFp16;
  DType wanted = isHalf ? DType::Float32 : DType::QInt8;
  if (weight->dtype != wanted)
    return context.fail("dtype", "wants a {0} weight, got {1}", getDTypeInfo(wanted).torchName, toString(*weight));
  if (isHalf)
    packed.weight.dtype = DType::Float16;
  std::optional<TensorType> bias = context.getOptionalTensor("bias");
  packed.hasBias = bias.has_value();
  if (bias && (bias->dtype != DType::Float32 || bias->getRank() != 1))
    return context.fail("bias", "wants a float32 bias of rank 1, got {0}", toString(*bias));
  if (bias && !isTransposed && !bias->shape[0].mayEqual(weight->shape[0]))
    return context.fail("bias", "wants a bias of {0} elements, got {1}", weight->shape[0], toString(*bias));
  return packed;
}

llvm::Expected<ValueType> inferLinearPrepack(const InferContext &context) {
  QFX_TRY(packed, pack(context, 2, /*isTransposed=*/false));
  return ValueType::packed(packed);
}

llvm::Expected<ValueType> inferConvPrepack(const InferContext &context) {
  bool isTransposed = context.getCall().find("output_padding");
  QFX_TRY(packed, pack(context, getSpatialRank(context) + 2, isTransposed));
  QFX_TRY(geometry, readConvGeometry(context, isTransposed));
  packed.stride = geometry.stride;
  packed.padding = geometry.padding;
  packed.outputPadding = geometry.outputPadding;
  packed.dilation = geometry.dilation;
  packed.groups = geometry.groups;
  return ValueType::packed(packed);
}

/// Rule `embedding_prepack_rank`: rank 2; `embedding_prepack_dtype`.
llvm::Expected<ValueType> inferEmbeddingPrepack(const InferContext &context) {
  PackedWeights packed;
  QFX_TRY(weight, context.getTensor("weight"));
  if (weight.getRank() != 2)
    return context.fail("rank", "wants a weight of rank 2, got {0}", toString(weight));
  if (llvm::Error err = checkTable(context, weight))
    return err;
  packed.weight = weight;
  return ValueType::packed(packed);
}

} // namespace qfx
