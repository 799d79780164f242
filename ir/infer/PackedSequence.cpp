// Rules of sequences of different length in one tensor (operators 11.4, 24.10).
#include "ir/InferDetail.h"
#include "ir/infer/RecurrentDetail.h"

namespace qfx {

std::optional<PackedSequenceType> getPackedSequence(const ValueType &value) {
  const ValueType::Dictionary *dict = value.getDictionary();
  if (!dict || dict->entries.size() != 2 || dict->entries[0].first != "data" || dict->entries[1].first != "lengths")
    return std::nullopt;
  const TensorType *data = dict->entries[0].second.getTensor(), *lengths = dict->entries[1].second.getTensor();
  return data && lengths ? std::optional(PackedSequenceType{*data, *lengths}) : std::nullopt;
}

ValueType makePackedSequence(const PackedSequenceType &type) {
  return ValueType::dictionary({{"data", type.data}, {"lengths", type.lengths}});
}

static TensorType swapLeading(TensorType type) {
  std::swap(type.shape[0], type.shape[1]);
  type.format = MemoryFormat::Contiguous;
  return type;
}

/// f32 [T, N, ...], or [N, T, ...] with batch_first, and lengths i64 [N].  Rules `pack_sequence_rank`, `pack_sequence_dtype`,
/// `pack_sequence_lengths`.
llvm::Expected<ValueType> inferPackSequence(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(lengths, context.getTensor("lengths"));
  QFX_TRY(isBatchFirst, context.getBool("batch_first"));
  QFX_TRY(isSorted, context.getBool("enforce_sorted"));
  (void)isSorted;
  if (input.dtype != DType::Float32)
    return context.fail("dtype", "wants a float32 input, got {0}", toString(input));
  if (input.getRank() < 2)
    return context.fail("rank", "wants an input of rank >= 2, got {0}", toString(input));
  if (isBatchFirst)
    input = swapLeading(input);
  if (lengths.dtype != DType::Int64 || lengths.getRank() != 1 || !lengths.shape[0].mayEqual(input.shape[1]))
    return context.fail("lengths", "wants int64 lengths of {0} rows, got {1}", input.shape[1], toString(lengths));
  input.format = MemoryFormat::Contiguous;
  return makePackedSequence({input, lengths});
}

/// (f32 [T, N, ...] or [N, T, ...], lengths).  Rules `pad_sequence_input`, `pad_sequence_length` (total_length >= T).
llvm::Expected<ValueType> inferPadSequence(const InferContext &context) {
  std::optional<PackedSequenceType> packed = getPackedSequence(context.getValue("sequence"));
  if (!packed)
    return context.fail("input", "wants what pack_padded_sequence or a recurrent layer on it gives");
  QFX_TRY(isBatchFirst, context.getBool("batch_first"));
  QFX_TRY(padding, context.getNumber("padding_value"));
  (void)padding;
  TensorType data = packed->data;
  if (context.hasValue("total_length")) {
    QFX_TRY(total, context.getInt("total_length"));
    if (total > (int64_t(1) << 40) || total < 1 || (data.shape[0].isStatic() && total < data.shape[0].getValue()))
      return context.fail("length", "wants a total_length in {0}..2^40, got {1}", data.shape[0], total);
    data.shape[0] = Dim(total);
  }
  if (isBatchFirst)
    data = swapLeading(data);
  return ValueType::sequence(Argument::Kind::Tuple, {ValueType(data), ValueType(packed->lengths)});
}

} // namespace qfx
