// Packing and unpacking of embedding rows.
#include "kernels/embedding/Embedding.h"

#include "kernels/embedding/EmbeddingDetail.h"
#include "kernels/quantize/HalfFloat.h"
#include "kernels/simd/Select.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace qfx::kernels {

static constexpr IsaRow<EmbeddingKernels> kRows[] = {
#define QFX_EMBEDDING_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/embedding/EmbeddingKernels.def"
};

const EmbeddingKernels &selectEmbedding(Isa isa) { return selectLast(kRows, isa); }

static float fromHalf(uint16_t bits) {
  float value;
  convertF16ToF32(&bits, &value, 1);
  return value;
}

static uint16_t toHalf(float value) {
  uint16_t bits;
  convertF32ToF16(&value, &bits, 1);
  return bits;
}

RowParams readRowParams(const PackedRows &rows, const uint8_t *row) {
  const uint8_t *tail = row + rows.codeBytes();
  if (rows.bits == 8) {
    RowParams params;
    std::memcpy(&params, tail, sizeof params);
    return params;
  }
  uint16_t halves[2];
  std::memcpy(halves, tail, sizeof halves);
  return {fromHalf(halves[0]), fromHalf(halves[1])};
}

void writeRowParams(const PackedRows &rows, RowParams params, uint8_t *row) {
  uint8_t *tail = row + rows.codeBytes();
  if (rows.bits == 8) {
    std::memcpy(tail, &params, sizeof params);
    return;
  }
  const uint16_t halves[2] = {toHalf(params.scale), toHalf(params.bias)};
  std::memcpy(tail, halves, sizeof halves);
}

static void writeCode(const PackedRows &rows, uint8_t *row, int64_t column, int code) {
  const int64_t perByte = 8 / rows.bits;
  row[column / perByte] |= static_cast<uint8_t>(code << (column % perByte * rows.bits));
}

void packFloatRow(const PackedRows &rows, const float *src, uint8_t *row) {
  const auto [low, high] = std::minmax_element(src, src + rows.columns);
  packRow(rows, src, {*low, *high}, row);
}

void packRow(const PackedRows &rows, const float *src, RowRange between, uint8_t *row) {
  float low = between.low;
  const float high = between.high;
  std::memset(row, 0, static_cast<size_t>(rows.codeBytes()));
  if (rows.bits == 8) {
    const float range = high - low, inverse = 255.0f / (range + 1e-8f);
    writeRowParams(rows, {range / 255.0f, low}, row);
    for (int64_t i = 0; i < rows.columns; ++i)
      row[i] = static_cast<uint8_t>(std::lrintf((src[i] - low) * inverse));
    return;
  }
  const int top = (1 << rows.bits) - 1;
  low = fromHalf(toHalf(low));
  const float range = high - low;
  float scale = fromHalf(toHalf(range == 0 ? 1.0f : range / static_cast<float>(top)));
  if (scale == 0)
    scale = 1.0f;
  float inverse = 1.0f / scale;
  if (std::isinf(inverse))
    scale = inverse = 1.0f;
  writeRowParams(rows, {scale, low}, row);
  for (int64_t i = 0; i < rows.columns; ++i)
    writeCode(rows, row, i, std::clamp(static_cast<int>(std::lrintf((src[i] - low) * inverse)), 0, top));
}

void unpackCodes(const PackedRows &rows, const uint8_t *row, uint8_t *codes) {
  if (rows.bits == 8) {
    std::memcpy(codes, row, static_cast<size_t>(rows.columns));
    return;
  }
  const int64_t perByte = 8 / rows.bits;
  for (int64_t i = 0; i < rows.columns; ++i)
    codes[i] = static_cast<uint8_t>(row[i / perByte] >> (i % perByte * rows.bits) & ((1 << rows.bits) - 1));
}

void unpackRow(const PackedRows &rows, const uint8_t *row, float *dst) {
  const RowParams params = readRowParams(rows, row);
  const int64_t perByte = 8 / rows.bits;
  for (int64_t i = 0; i < rows.columns; ++i) {
    int code = row[i / perByte] >> (i % perByte * rows.bits) & ((1 << rows.bits) - 1);
    dst[i] = static_cast<float>(code) * params.scale + params.bias;
  }
}

void addPackedRow(const EmbeddingKernels &kernels, const PackedRows &rows, const uint8_t *row, float weight, float *dst,
                  uint8_t *scratch) {
  const RowParams params = readRowParams(rows, row);
  const uint8_t *codes = row;
  if (rows.bits != 8) {
    unpackCodes(rows, row, scratch);
    codes = scratch;
  }
  kernels.addRow(codes, dst, rows.columns, weight * params.scale, weight * params.bias);
}

} // namespace qfx::kernels
