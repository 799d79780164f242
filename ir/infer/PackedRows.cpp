// Rules of embedding tables whose rows are bytes: codes, then the row's scale and bias (operators 10).
#include "ir/infer/LinearDetail.h"

namespace qfx {

/// Bytes of a row behind its codes: two float32 with 8 bits, two float16 with fewer.
static int64_t getTailBytes(int64_t bits) { return bits == 8 ? 8 : 4; }

/// Rules `rowwise_prepack_dtype` (float32 or float16), `rowwise_prepack_columns` (whole bytes of codes),
/// `rowwise_prepack_search` (optimized_qparams: 1..2^20 bins, a ratio within 0..1).
llvm::Expected<ValueType> inferRowwisePrepack(const InferContext &context) {
  QFX_TRY(weight, context.getTensor("weight"));
  QFX_TRY(bits, context.getInt("bits"));
  QFX_TRY(isOptimized, context.getBool("optimized_qparams"));
  if (weight.dtype != DType::Float32 && weight.dtype != DType::Float16)
    return context.fail("dtype", "wants a float32 or float16 weight, got {0}", toString(weight));
  if (weight.getRank() < 2)
    return context.fail("rank", "wants a weight of rank >= 2, got {0}", toString(weight));
  if (context.hasValue("rowwise_min_max")) {
    QFX_TRY(ranges, context.getTensor("rowwise_min_max"));
    if (ranges.dtype != DType::Float32 || ranges.getRank() != 2 || !ranges.shape[1].mayEqual(Dim(2)) ||
        weight.getRank() != 2 || !ranges.shape[0].mayEqual(weight.shape[0]))
      return context.fail("ranges", "wants a weight of rank 2 and float32 ranges [rows, 2], got {0} and {1}", toString(weight),
                          toString(ranges));
    if (isOptimized)
      return context.fail("search", "wants ranges or a search for them, not both");
  }
  if (isOptimized) {
    QFX_TRY(bins, context.getInt("nbins"));
    QFX_TRY(ratio, context.getNumber("ratio"));
    if (bins < 1 || bins > (1 << 20) || !(ratio >= 0 && ratio <= 1))
      return context.fail("search", "wants 1 to 2^20 bins and a ratio within 0..1, got {0} and {1}", bins, ratio);
  }
  Dim &columns = weight.shape.back();
  if (columns.isStatic() && (columns.getValue() < 1 || columns.getValue() * bits % 8))
    return context.fail("columns", "wants a multiple of {0} columns, got {1}", 8 / bits, toString(weight));
  columns = columns.isStatic() ? Dim(columns.getValue() * bits / 8 + getTailBytes(bits)) : Dim::unknown();
  weight.dtype = DType::UInt8;
  weight.format = MemoryFormat::Contiguous;
  return ValueType(weight);
}

/// The uint8 table and its columns.  Rules `<op>_dtype`, `<op>_rank`, `<op>_columns`.
static llvm::Expected<TensorType> getUnpacked(const InferContext &context) {
  QFX_TRY(weight, context.getTensor("weight"));
  QFX_TRY(bits, context.getInt("bits"));
  if (weight.dtype != DType::UInt8)
    return context.fail("dtype", "wants a uint8 table, got {0}", toString(weight));
  if (weight.getRank() < 2)
    return context.fail("rank", "wants a table of rank >= 2, got {0}", toString(weight));
  Dim &columns = weight.shape.back();
  if (columns.isStatic() && columns.getValue() <= getTailBytes(bits))
    return context.fail("columns", "wants more than {0} bytes a row, got {1}", getTailBytes(bits), toString(weight));
  columns = columns.isStatic() ? Dim((columns.getValue() - getTailBytes(bits)) * 8 / bits) : Dim::unknown();
  weight.dtype = DType::Float32;
  weight.format = MemoryFormat::Contiguous;
  return weight;
}

llvm::Expected<ValueType> inferRowwiseUnpack(const InferContext &context) {
  QFX_TRY(result, getUnpacked(context));
  return ValueType(result);
}

llvm::Expected<ValueType> inferRowwiseBag(const InferContext &context) {
  QFX_TRY(table, getUnpacked(context));
  QFX_TRY(result, inferBagShape(context, table, DType::Float32));
  return ValueType(result);
}

} // namespace qfx
