// Cutting rows x panels into units of work, for linear and convolution alike.
#ifndef KERNELS_GEMM_GEMMBLOCKING_H
#define KERNELS_GEMM_GEMMBLOCKING_H

#include "kernels/gemm/GemmPack.h"

namespace qfx::kernels {

struct GemmBlocking {
  int64_t rowsPerBlock, rowBlocks, panelsPerBlock, columnBlocks;
};

/// Row blocks are multiples of the kernel's rows whose packed activations stay within a share of the L2 cache; columns
/// are cut only when there are too few row blocks for `threads`.  `copies` independent problems share the threads.
GemmBlocking chooseBlocking(const PackedGemm &weights, int64_t rows, int64_t copies, int threads);

} // namespace qfx::kernels

#endif // KERNELS_GEMM_GEMMBLOCKING_H
