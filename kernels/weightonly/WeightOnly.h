// Float matrix products with 8- or 4-bit weights that are turned into floats on the way: weight-only quantized linear.
//
// Usage: packWeightOnly once per weight; then the selected function over any split of rows and panels.
#ifndef KERNELS_WEIGHTONLY_WEIGHTONLY_H
#define KERNELS_WEIGHTONLY_WEIGHTONLY_H

#include "kernels/isa/Isa.h"

#include <cstdint>

namespace qfx::kernels {

/// Output columns of a panel, on every instruction set.
constexpr int kWeightOnlyColumns = 16;

/// Weights before packing: w[n][k] = f32(f32(code - zeroPoint) * scale) with scale and zero point of row n, group
/// k / groupSize.
struct WeightOnlySource {
  int64_t columns = 0, depth = 0;     ///< N, K
  int64_t groupSize = 0;              ///< > 0; the last group may be shorter
  int bits = 8;                       ///< 8 or 4
  const int8_t *bytes = nullptr;      ///< 8 bits: s8 [N, K]
  const uint8_t *nibbles = nullptr;   ///< 4 bits: [N, ceil(K / 2)], the even k in the low half
  const float *scale = nullptr;       ///< f32 [N, groups]
  const int32_t *zeroPoint = nullptr; ///< s32 [N, groups], |zeroPoint| < 2^23

  int64_t groups() const { return groupSize > 0 ? (depth + groupSize - 1) / groupSize : 0; }
};

/// Packed weights; the arrays lie in the memory given to packWeightOnly.
struct WeightOnlyPacked {
  int64_t columns = 0, depth = 0, groupSize = 0;
  int bits = 8;
  const uint8_t *codes = nullptr;   ///< [panel][k][16] codes + 128, or [panel][k][8]: column j low, column j + 8 high
  const float *scale = nullptr;     ///< [panel][group][16]
  const float *zeroPoint = nullptr; ///< like scale; of the packed codes

  int64_t panels() const { return (columns + kWeightOnlyColumns - 1) / kWeightOnlyColumns; }
};

/// Bytes that packWeightOnly writes (64-byte aligned memory).
int64_t getWeightOnlyPackedBytes(const WeightOnlySource &source);
WeightOnlyPacked packWeightOnly(const WeightOnlySource &source, void *memory);

struct WeightOnlyArgs {
  WeightOnlyPacked weights;
  const float *src = nullptr;  ///< f32 [rows, K], rows without gap
  const float *bias = nullptr; ///< f32 [N] or null
  float *dst = nullptr;        ///< f32 [rows, N], rows without gap; must not overlap src
};

/// Computes rows [rowBegin, rowEnd) of panels [panelBegin, panelEnd).  Each output is one chain fma(src[m][k], w[n][k],
/// acc) over rising k that starts with the bias or 0: the bits of a float linear layer with the dequantized weight.
using WeightOnlyFn = void (*)(const WeightOnlyArgs &args, int64_t rowBegin, int64_t rowEnd, int64_t panelBegin,
                              int64_t panelEnd);

/// The function for `isa`; ask once and keep it.  \param bits  8 or 4.
WeightOnlyFn selectWeightOnly(int bits, Isa isa = getCurrentIsa());

} // namespace qfx::kernels

#endif // KERNELS_WEIGHTONLY_WEIGHTONLY_H
