// Float results of rows whose codes were quantized by a scale and zero point of their own.
#ifndef KERNELS_REQUANT_ROWDEQUANT_H
#define KERNELS_REQUANT_ROWDEQUANT_H

#include "kernels/isa/Isa.h"

#include <cstdint>

namespace qfx::kernels {

/// One row's parameters and the tables of the channels, all [n].
struct RowDequant {
  float scale;              ///< of the row's codes, real units per step
  int32_t zeroPoint;        ///< of the row's codes, within [0, 255]
  const int32_t *weightSum; ///< sum of the channel's weight codes
  const float *weightScale; ///< real units per step
  const float *bias;        ///< real units
  float floor;              ///< -infinity, or 0 with relu
  bool fusesBias = false;   ///< product and bias are rounded once
};

/// Row functions of one instruction set; results do not depend on it.
struct RowDequantKernels {
  /// In place, n >= 0 elements: the bits of an s32 dot product of raw codes become
  /// max(f32(f32(acc - zeroPoint * weightSum) * f32(scale * weightScale)) + bias, floor); a NaN stays.  The difference fits s32.
  /// With fusesBias product and bias are rounded once.
  /// Source: spec operators 11.1 with one (s, z) per row.
  void (*finish)(float *values, int64_t n, const RowDequant &row);
};

/// \returns the rows for `isa`; ask once and keep the reference.
const RowDequantKernels &selectRowDequant(Isa isa = getCurrentIsa());

} // namespace qfx::kernels

#endif // KERNELS_REQUANT_ROWDEQUANT_H
