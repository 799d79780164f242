// The rule of reference linear layers, those that keep integer weights included.
#include "ir/OpsDetail.h"
#include "ir/infer/LinearDetail.h"

namespace qfx {

/// input f32 [*, K] -> [*, N].  Rules `<op>_bits` (8 with an i8 weight [N, K], 4 with a u8 weight [N, ceil(K / 2)]),
/// `<op>_group`,
/// `<op>_scale` (f32 [N, groups], or [N] for one group), `<op>_zero_point` (integers of the same shape), `<op>_dtype`,
/// and those of linear layers.
static llvm::Expected<ValueType> inferWeightOnly(const InferContext &context, const TensorType &weight) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(scale, context.getTensor("weight_scale"));
  QFX_TRY(bits, context.getInt("bits"));
  QFX_TRY(groupSize, context.getInt("group_size"));
  QFX_TRY(features, context.getInt("in_features"));
  if (input.dtype != DType::Float32)
    return context.fail("dtype", "wants a float32 input, got {0}", toString(input));
  if (weight.getRank() != 2 || !weight.isStatic())
    return context.fail("rank", "wants a weight of rank 2 and known shape, got {0}", toString(weight));
  bool isByte = bits == 8 && weight.dtype == DType::Int8, isNibble = bits == 4 && weight.dtype == DType::UInt8;
  if (!isByte && !isNibble)
    return context.fail("bits", "wants an i8 weight for 8 bits or a u8 weight for 4 bits, got {0} and {1} bits",
                        toString(weight), bits);
  int64_t rows = weight.shape[0].getValue(), stored = weight.shape[1].getValue();
  if (!features && isByte)
    features = stored;
  if (stored != (isByte ? features : (features + 1) / 2))
    return context.fail("features", "wants weight codes of {0} features, got {1}", features, toString(weight));
  if (groupSize < 0)
    return context.fail("group", "wants a group size >= 0, got {0}", groupSize);
  int64_t groups = groupSize ? (features + groupSize - 1) / groupSize : 1;
  auto fits = [&](const TensorType &type) {
    bool isFlat = groups == 1 && type.getRank() == 1 && type.shape[0].mayEqual(Dim(rows));
    return isFlat || (type.getRank() == 2 && type.shape[0].mayEqual(Dim(rows)) && type.shape[1].mayEqual(Dim(groups)));
  };
  if (scale.dtype != DType::Float32 || !fits(scale))
    return context.fail("scale", "wants float32 scales of shape [{0}, {1}], got {2}", rows, groups, toString(scale));
  std::optional<TensorType> zeroPoint = context.getOptionalTensor("weight_zero_point");
  if (zeroPoint && (isFloat(zeroPoint->dtype) || isQuantized(zeroPoint->dtype) || !fits(*zeroPoint)))
    return context.fail("zero_point", "wants integer zero points of shape [{0}, {1}], got {2}", rows, groups,
                        toString(*zeroPoint));
  TensorType plain = weight;
  plain.shape[1] = Dim(features);
  QFX_TRY(result, inferLinearShape(context, input, plain, context.getOptionalTensor("bias")));
  return ValueType(result);
}

/// A float layer on the weight that a reference module stands for, or with a weight that is kept as codes.
llvm::Expected<ValueType> inferReferenceLinear(const InferContext &context) {
  QFX_TRY(weight, context.getTensor("weight"));
  if (weight.dtype == DType::Int8 || weight.dtype == DType::UInt8)
    return inferWeightOnly(context, weight);
  return inferLinear(context);
}

} // namespace qfx
