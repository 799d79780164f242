// Embedding tables whose rows are packed codes with their own scale and bias, and sums of such rows.
#ifndef KERNELS_EMBEDDING_EMBEDDING_H
#define KERNELS_EMBEDDING_EMBEDDING_H

#include "kernels/isa/Isa.h"

#include <cstdint>

namespace qfx::kernels {

/// Layout of a packed row: ceil(columns * bits / 8) bytes of codes, the lowest bits first, then scale and bias, both
/// float32 with 8 bits per code and float16 with 4 or 2 (operators.md 10.1).
struct PackedRows {
  int bits = 8; ///< 8, 4 or 2
  int64_t columns = 0;

  int64_t codeBytes() const { return (columns * bits + 7) / 8; }
  int64_t rowBytes() const { return codeBytes() + (bits == 8 ? 8 : 4); }
};

/// A row's scale and bias: value = scale * code + bias.
struct RowParams {
  float scale, bias;
};
RowParams readRowParams(const PackedRows &rows, const uint8_t *row);
/// Stores them behind the codes; fewer than 8 bits round both to float16.
void writeRowParams(const PackedRows &rows, RowParams params, uint8_t *row);

/// Packs a row of floats: 8 bits: scale = f32(range / 255), code = RNE((x - min) * f32(255 / (range + 1e-8))); fewer:
/// the minimum is rounded to float16 first, scale = fp16(range / (2^bits - 1)), 1 if that is 0.
/// \param src  f32 [columns], finite.   \param row  rowBytes() bytes.
/// Source: FBGEMM QuantUtils.cc, FloatOrHalfToFusedNBitRowwiseQuantizedSBHalf; operators.md 10.1.
void packFloatRow(const PackedRows &rows, const float *src, uint8_t *row);

/// The values that a row's codes span.
struct RowRange {
  float low, high;
};

/// The range with the least error that a greedy search finds: from the row's own range the end moves inwards whose move costs less, a step of
/// range / bins at a time, until `bins * (1 - ratio)` steps are left; a local minimum of the error is taken if it is the least so far.
/// The error is the norm of x - (code * scale + low) with the scale and low that packRow would use, in float32, in column order.
/// \param rows   4 or 2 bits.  \param src  f32 [columns], finite.  \param bins  >= 1.  \param ratio  0..1, how much may be cut off.
/// Source: PyTorch's choose_qparams_optimized (operators.md 10.1).
RowRange searchRowRange(const PackedRows &rows, const float *src, int64_t bins, float ratio);

/// Packs a row of floats as packFloatRow does, with this range instead of the row's own.
void packRow(const PackedRows &rows, const float *src, RowRange range, uint8_t *row);

/// dst = f32(code * scale) + bias, f32 [columns].
void unpackRow(const PackedRows &rows, const uint8_t *row, float *dst);

/// Codes of a row, one per byte, into codes[columns].
void unpackCodes(const PackedRows &rows, const uint8_t *row, uint8_t *codes);

struct EmbeddingKernels {
  /// dst[i] = fma(scale, codes[i], dst[i] + bias), n >= 0 codes.
  void (*addRow)(const uint8_t *codes, float *dst, int64_t n, float scale, float bias);
};

/// \returns the rows for `isa`; ask once and keep the reference.
const EmbeddingKernels &selectEmbedding(Isa isa = getCurrentIsa());

/// dst += weight * row, as addRow with scale * weight and bias * weight.
/// \param scratch  columns bytes; unused with 8 bits.
void addPackedRow(const EmbeddingKernels &kernels, const PackedRows &rows, const uint8_t *row, float weight, float *dst,
                  uint8_t *scratch);

} // namespace qfx::kernels

#endif // KERNELS_EMBEDDING_EMBEDDING_H
