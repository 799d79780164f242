// What a GEMM microkernel is asked to do: one tile of rows times one panel of packed weights, epilogue included.
#ifndef KERNELS_GEMM_GEMMTILE_H
#define KERNELS_GEMM_GEMMTILE_H

#include <cstdint>

namespace qfx::kernels {

/// What becomes of the s32 accumulators of a tile.
enum class TileOutput : uint8_t {
  S32,  ///< stored as they are
  Code, ///< u8, RequantParams' rule for codes
  Float ///< f32, RequantParams' rule for floats
};

/// One call of a microkernel.  Column tables (offset, bias, multiplier) start at the panel's first column and may be
/// read for a whole panel width.
struct GemmTile {
  const uint8_t *a;      ///< u8 [rows, K padded to whole blocks]; what stands in the padding does not matter
  int64_t ldaElems;      ///< distance of rows of a
  const int8_t *b;       ///< packed panel, see GemmPack.h
  const int32_t *order;  ///< k at which each block of the panel starts, or null: 0, kStep, 2 kStep, ...
  int64_t blocks;        ///< number of k blocks
  int64_t safeBlocks;    ///< leading blocks whose 4-products sums fit int16 when codes stay below 128
  int64_t balancedBlocks; ///< leading blocks whose 4-products sums of split codes fit int16
  bool below128;         ///< every code of a is below 128 (a hint, used by kernels without exact u8 x s8 products)
  const uint8_t *split;  ///< null, or a once more, as HighCodes::split wrote it: what is multiplied when below128 is false
  int64_t ldSplitElems;
  const int32_t *splitSum; ///< [rows], what to add to a row of products of split codes
  const int32_t *weightSum; ///< of the columns, for `split`
  const uint8_t *highCodes;   ///< what codes of a are cut by to stay below 128: u8 [rows, 8 * highSteps], HighCodes.h
  int64_t ldhElems;
  const int32_t *highStep; ///< index, in the natural order of k, of each step that highCodes has codes for
  int64_t highSteps;       ///< 0 when nothing was cut
  const int32_t *place;    ///< where in the panel the step of that index stands
  int columns;           ///< valid columns, 1..panel width
  TileOutput output;
  void *c;               ///< s32, u8 or f32 [rows, columns]
  int64_t ldcElems;
  const int32_t *offset;
  const float *bias;
  const float *multiplier;
  int32_t zeroPoint, low, high;
  float floor;
  bool fusesBias; ///< of the float output
};

/// Computes `rows` (1..the kernel's rows) rows of the tile.
using GemmFunction = void (*)(int rows, const GemmTile &tile);

#define QFX_GEMM(Isa, name, ...) void name(int rows, const GemmTile &tile);
#include "kernels/gemm/GemmKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_GEMM_GEMMTILE_H
