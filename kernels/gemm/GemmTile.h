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
  bool below128;         ///< every code of a is below 128 (the hint a kernel without exact u8 x s8 products uses)
  int columns;           ///< valid columns, 1..panel width
  TileOutput output;
  void *c;               ///< s32, u8 or f32 [rows, columns]
  int64_t ldcElems;
  const int32_t *offset;
  const float *bias;
  const float *multiplier;
  int32_t zeroPoint, low, high;
  float floor;
};

/// Computes `rows` (1..the kernel's rows) rows of the tile.
using GemmFunction = void (*)(int rows, const GemmTile &tile);

/// \returns whether every one of `rows` rows of `width` codes is below 128.
using Below128Function = bool (*)(const uint8_t *a, int64_t rows, int64_t width, int64_t ldaElems);

#define QFX_GEMM(Isa, name, ...) void name(int rows, const GemmTile &tile);
#include "kernels/gemm/GemmKernels.def"

/// Exact for any instruction set; the AVX2 row needs the answer for each block of rows.
bool below128_avx2(const uint8_t *a, int64_t rows, int64_t width, int64_t ldaElems);

} // namespace qfx::kernels

#endif // KERNELS_GEMM_GEMMTILE_H
