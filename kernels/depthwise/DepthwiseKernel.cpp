// The rows of DepthwiseKernels.def as a table.
#include "kernels/depthwise/DepthwiseKernel.h"

namespace qfx::kernels {

std::span<const DepthwiseKernel> getDepthwiseKernels() {
  static constexpr DepthwiseKernel kTable[] = {
#define QFX_DEPTHWISE(isa, name, width, tapGroup, below128) {Isa::isa, #name, width, tapGroup, below128, name},
#include "kernels/depthwise/DepthwiseKernels.def"
  };
  return kTable;
}

const DepthwiseKernel &selectDepthwise(Isa isa) {
  std::span<const DepthwiseKernel> rows = getDepthwiseKernels();
  for (size_t i = rows.size(); i-- > 1;)
    if (isIsaUsable(rows[i].isa, isa))
      return rows[i];
  return rows[0];
}

} // namespace qfx::kernels
