// Packs weight codes, scales and zero points into panels of 16 output columns.
#include "kernels/weightonly/WeightOnly.h"

#include <cassert>
#include <cstring>

namespace qfx::kernels {

static int64_t alignUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static int64_t countPanels(const WeightOnlySource &source) {
  return (source.columns + kWeightOnlyColumns - 1) / kWeightOnlyColumns;
}

/// Vectors read 8 codes at a time: the last 4-bit row of a panel ends on such a boundary already.
static int64_t getCodeBytes(const WeightOnlySource &source) {
  return alignUp(countPanels(source) * source.depth * (source.bits == 8 ? kWeightOnlyColumns : kWeightOnlyColumns / 2));
}

static int64_t getTableBytes(const WeightOnlySource &source) {
  return alignUp(countPanels(source) * source.groups() * kWeightOnlyColumns * static_cast<int64_t>(sizeof(float)));
}

int64_t getWeightOnlyPackedBytes(const WeightOnlySource &source) {
  return getCodeBytes(source) + 2 * getTableBytes(source);
}

/// The code of w[n][k] as it is packed: 0..255 or 0..15.
static uint8_t getCode(const WeightOnlySource &source, int64_t n, int64_t k) {
  if (source.bits == 8)
    return static_cast<uint8_t>(source.bytes[n * source.depth + k] + 128);
  uint8_t pair = source.nibbles[n * ((source.depth + 1) / 2) + k / 2];
  return k % 2 ? pair >> 4 : pair & 15;
}

WeightOnlyPacked packWeightOnly(const WeightOnlySource &source, void *memory) {
  assert((source.bits == 8 || source.bits == 4) && (source.groupSize > 0 || source.depth == 0) &&
         "weights have 8 or 4 bits in groups of at least one");
  constexpr int64_t kColumns = kWeightOnlyColumns, kHalf = kColumns / 2;
  std::memset(memory, 0, static_cast<size_t>(getWeightOnlyPackedBytes(source)));
  auto *codes = static_cast<uint8_t *>(memory);
  auto *scale = reinterpret_cast<float *>(codes + getCodeBytes(source));
  auto *zeroPoint = reinterpret_cast<float *>(codes + getCodeBytes(source) + getTableBytes(source));
  const int64_t groups = source.groups(), shift = source.bits == 8 ? 128 : 0;
  for (int64_t n = 0; n < source.columns; ++n) {
    const int64_t panel = n / kColumns, column = n % kColumns;
    for (int64_t group = 0; group < groups; ++group) {
      int64_t place = (panel * groups + group) * kColumns + column;
      scale[place] = source.scale[n * groups + group];
      zeroPoint[place] = static_cast<float>(source.zeroPoint[n * groups + group] + shift);
    }
    for (int64_t k = 0; k < source.depth; ++k) {
      uint8_t code = getCode(source, n, k);
      if (source.bits == 8)
        codes[(panel * source.depth + k) * kColumns + column] = code;
      else
        codes[(panel * source.depth + k) * kHalf + column % kHalf] |=
            static_cast<uint8_t>(code << (column < kHalf ? 0 : 4));
    }
  }
  WeightOnlyPacked packed;
  packed.columns = source.columns;
  packed.depth = source.depth;
  packed.groupSize = source.groupSize;
  packed.bits = source.bits;
  packed.codes = codes;
  packed.scale = scale;
  packed.zeroPoint = zeroPoint;
  return packed;
}

} // namespace qfx::kernels
