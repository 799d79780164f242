// The table of GEMM microkernels and the choice among them.
#ifndef KERNELS_GEMM_GEMMKERNEL_H
#define KERNELS_GEMM_GEMMKERNEL_H

#include "kernels/gemm/GemmTile.h"
#include "kernels/gemm/HighCodes.h"
#include "kernels/isa/Isa.h"

#include <span>
#include <string_view>

namespace qfx::kernels {

/// One row of GemmKernels.def.
struct GemmKernel {
  Isa isa;
  std::string_view name;
  int rows, columns, kStep, vectorColumns;
  const HighCodes *highCodes;
  GemmFunction run;

  /// Whether packed panels keep their blocks in an order of their own.
  bool hasOrder() const { return highCodes != nullptr; }
};

/// All rows compiled for this processor family, oldest instruction set first.
std::span<const GemmKernel> getGemmKernels();

/// The row to use under `isa`: the last usable one.  Ask once, when a graph is prepared.
const GemmKernel &selectGemm(Isa isa);

} // namespace qfx::kernels

#endif // KERNELS_GEMM_GEMMKERNEL_H
