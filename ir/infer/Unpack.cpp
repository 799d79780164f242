// What packed weights give back: the tensors they were made of, the numbers of a convolution.
#include "ir/InferDetail.h"
#include "ir/OpKind.h"

namespace qfx {

/// Rule `<op>_packed`: packed weights stand in the slot.
static llvm::Expected<PackedWeights> getPackedOperand(const InferContext &context) {
  ValueType value = context.getValue("packed");
  if (const PackedWeights *packed = value.getPacked())
    return *packed;
  return context.fail("packed", "wants packed weights, got something else");
}

/// (weight, bias or None); of an embedding the weight alone.
llvm::Expected<ValueType> inferPackedUnpack(const InferContext &context) {
  QFX_TRY(packed, getPackedOperand(context));
  if (context.getCall().op->kind == OpKind::EmbeddingUnpack)
    return ValueType(packed.weight);
  ValueType bias = ValueType::host(Argument());
  if (packed.hasBias) {
    TensorType type;
    type.shape = {packed.isTransposed ? packed.weight.shape[1] * Dim(packed.groups) : packed.weight.shape[0]};
    bias = ValueType(type);
  }
  return ValueType::sequence(Argument::Kind::Tuple, {ValueType(packed.weight), std::move(bias)});
}

/// As PyTorch packs it: one axis counts as two, the first of size 1 (operators 5.4).  Rule `packed_geometry_packed`: a convolution.
llvm::Expected<ValueType> inferPackedGeometry(const InferContext &context) {
  QFX_TRY(packed, getPackedOperand(context));
  if (packed.stride.empty())
    return context.fail("packed", "wants the packed weights of a convolution");
  const std::string &what = context.getCall().get("what").arg.getString();
  if (what == "groups")
    return ValueType::host(Argument(packed.groups));
  if (what == "transpose")
    return ValueType::host(Argument(int64_t(packed.isTransposed)));
  llvm::SmallVector<int64_t, 3> numbers = what == "stride"     ? packed.stride
                                          : what == "padding"  ? packed.padding
                                          : what == "dilation" ? packed.dilation
                                                               : packed.outputPadding;
  numbers.resize(packed.stride.size(), 0);
  if (numbers.size() == 1)
    numbers.insert(numbers.begin(), what == "stride" || what == "dilation" ? 1 : 0);
  return ValueType::host(Argument::ints(numbers));
}

} // namespace qfx
