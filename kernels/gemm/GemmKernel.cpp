// The rows of GemmKernels.def as a table.
#include "kernels/gemm/GemmKernel.h"

namespace qfx::kernels {

std::span<const GemmKernel> getGemmKernels() {
  static constexpr GemmKernel kTable[] = {
#define QFX_GEMM(isa, name, rows, columns, kStep, vectorColumns, highCodes)                                             \
  {Isa::isa, #name, rows, columns, kStep, vectorColumns, highCodes, name},
#include "kernels/gemm/GemmKernels.def"
  };
  return kTable;
}

const GemmKernel &selectGemm(Isa isa) {
  std::span<const GemmKernel> rows = getGemmKernels();
  for (size_t i = rows.size(); i-- > 1;)
    if (isIsaUsable(rows[i].isa, isa))
      return rows[i];
  return rows[0];
}

} // namespace qfx::kernels
