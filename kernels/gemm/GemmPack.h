// Packs s8 weights into the panels the GEMM microkernels read.
//
// A panel holds `columns` neighbouring output channels (the last one fewer, rounded up to vectorColumns); inside it
// stand blocks of 4 neighbouring k: block-major, then column, then k: b[k / 4][column][k % 4].  K is padded with zero
// weights to a multiple of kStep.  A kernel with kStep 8 has two such blocks per step and keeps the steps of each panel
// in an order of its own: first the balanced ones, in which for every column the magnitudes of w0, w1, w4, w5 and those of w2, w3, w6, w7 add
// up to at most 252, so that 128 * (the sum with any of the weights inverted bit by bit) fits int16; then the other safe ones, in which the
// positive and negative parts of those sums are at most 258, so that 127 * (the sum) does; then the rest.  `order` tells the k of each step.
#ifndef KERNELS_GEMM_GEMMPACK_H
#define KERNELS_GEMM_GEMMPACK_H

#include "kernels/gemm/GemmKernel.h"

namespace qfx::kernels {

/// Where the weights of a GEMM stand before packing: column n, k = outer * innerCount + inner.
struct GemmWeights {
  const int8_t *data = nullptr;
  int64_t columns = 0, outerCount = 1, innerCount = 0;
  int64_t columnStride = 0, outerStride = 0, innerStride = 1; ///< in elements

  int64_t depth() const { return outerCount * innerCount; }
};

/// Packed weights; the arrays lie in the memory given to packGemm and stay its property.
struct PackedGemm {
  const GemmKernel *kernel = nullptr;
  int64_t columns = 0, depth = 0;
  int64_t steps = 0;                  ///< depth / kStep, rounded up
  const int8_t *panels = nullptr;
  const int32_t *order = nullptr;     ///< [panels][steps] or null
  const int32_t *place = nullptr;     ///< [panels][steps] or null: where the step of k = 8 * index stands
  const int32_t *safeSteps = nullptr; ///< [panels] or null: how many steps are safe, the balanced ones included
  const int32_t *balancedSteps = nullptr; ///< [panels] or null
  const int32_t *weightSum = nullptr; ///< [columns], sum over k; readable for whole panels

  int64_t panelCount() const { return (columns + kernel->columns - 1) / kernel->columns; }
  /// Codes a row of A must have readable: depth rounded up to whole steps.
  int64_t paddedDepth() const { return steps * kernel->kStep; }
};

/// Bytes that packGemm writes (64-byte aligned memory).
int64_t getPackedGemmBytes(const GemmKernel &kernel, int64_t columns, int64_t depth);

/// What packGemm with these arguments left in `memory` (packed weights may be moved to other memory as plain bytes).
PackedGemm viewPackedGemm(const GemmKernel &kernel, int64_t columns, int64_t depth, const void *memory);

/// Packs `weights` for `kernel` into `memory`; depth below 2^24.
PackedGemm packGemm(const GemmKernel &kernel, const GemmWeights &weights, void *memory);

/// The same for panels [begin, end) of kernel.columns columns each: packing in parts reads the weights in parts.
void packGemmPanels(const GemmKernel &kernel, const GemmWeights &weights, int64_t begin, int64_t end, void *memory);

} // namespace qfx::kernels

#endif // KERNELS_GEMM_GEMMPACK_H
