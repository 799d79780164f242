// C[M, N] = epilogue(A[M, K] * B[N, K]^T) for u8 activations and packed s8 weights: quantized linear.
//
// Usage: packGemm once per weight; prepareRequant or prepareDequant once per set of scales; planGemm once per M; then
// runGemm over units [0, plan.units()), split over threads in any way.  The split never changes a bit: sums are exact.
#ifndef KERNELS_GEMM_GEMM_H
#define KERNELS_GEMM_GEMM_H

#include "kernels/gemm/GemmPack.h"
#include "kernels/requant/Requant.h"

namespace qfx::kernels {

/// How M x N is cut into units of work: unit u is row block u / columnBlocks, column block u % columnBlocks.
struct GemmPlan {
  PackedGemm weights;
  int64_t rows = 0;
  int64_t rowsPerBlock = 1, rowBlocks = 0;
  int64_t panelsPerBlock = 1, columnBlocks = 0;

  int64_t units() const { return rowBlocks * columnBlocks; }
};

/// Cuts `rows` rows so that `threads` threads have work (more units than threads where the size allows it).
GemmPlan planGemm(const PackedGemm &weights, int64_t rows, int threads);

/// Bytes of scratch each thread must bring (64-byte aligned).
int64_t getGemmScratchBytes(const GemmPlan &plan);

/// Runs units [begin, end).
/// \param a    u8 [rows, K], rows ldaElems apart; raw codes.
/// \param dst  u8 (TileOutput::Code, params from prepareRequant) or f32 (TileOutput::Float, params from prepareDequant)
///             or s32 (TileOutput::S32, params.exact32 only: sums of raw codes, the tables unread) [rows, N], rows
///             ldcElems >= N apart; must not overlap a.
/// Exact for every K and zero point: int32 sums are added in int64 when they could overflow (operators 3.5).
void runGemm(const GemmPlan &plan, const RequantParams &params, TileOutput output, const uint8_t *a, int64_t ldaElems,
             void *dst, int64_t ldcElems, void *scratch, int64_t begin, int64_t end);

/// One tile of rows as the kernel is to read it.
struct TileCodes {
  const uint8_t *a;
  int64_t ldaElems;
  bool below128;
  const uint8_t *highCodes; ///< HighCodes.h
  int64_t ldhElems;
  const int32_t *highStep;
  int64_t highSteps;
  const uint8_t *split;
  int64_t ldSplitElems;
  const int32_t *splitSum;
};

/// One block of rows against panels [panelBegin, panelEnd) of `weights`, whose first column is channel `firstChannel`
/// of the tables in `params`: what runGemm and the convolutions are made of.
struct GemmBlock {
  const uint8_t *a = nullptr; ///< [rows, weights.paddedDepth()] readable
  int64_t ldaElems = 0, rows = 0;
  const TileCodes *tiles = nullptr; ///< filled in by prepareBlock
  int64_t panelBegin = 0, panelEnd = 0;
  int64_t firstChannel = 0;
  TileOutput output = TileOutput::Code;
  void *dst = nullptr; ///< column 0 of `weights`
  int64_t ldcElems = 0;
};

/// Bytes of scratch that prepareBlock needs for blocks of up to `rows` rows (64-byte aligned).
int64_t getBlockScratchBytes(const PackedGemm &weights, int64_t rows);

/// Cuts block.a into tiles of even height and sets codes >= 128 apart, or splits all codes of a tile with many of them, where the kernel needs
/// it; block.a stays as it is.
void prepareBlock(const PackedGemm &weights, const RequantParams &params, GemmBlock &block, void *scratch);

void runBlock(const PackedGemm &weights, const RequantParams &params, const GemmBlock &block);

} // namespace qfx::kernels

#endif // KERNELS_GEMM_GEMM_H
