// Packing a linear layer's weight in parts.
#include "backends/native/PackedLinear.h"

#include "ir/weights/MappedFile.h"
#include "kernels/gemm/GemmKernel.h"

#include <algorithm>

namespace qfx::runtime {

static constexpr int64_t kPackedAtOnce = 1 << 20; ///< bytes, in memory beside what they are packed to

llvm::Expected<std::shared_ptr<PackedLinear>> packLinear(BindContext &context, llvm::StringRef tag, const Tensor &weight) {
  return context.getCached<PackedLinear>(tag, [&]() -> llvm::Expected<std::shared_ptr<PackedLinear>> {
    if (weight.getRank() != 2)
      return context.fail("weight must be a matrix, got {0}", toString(weight.getType()));
    const kernels::GemmKernel &kernel = kernels::selectGemm(kernels::getCurrentIsa());
    kernels::GemmWeights weights;
    weights.data = weight.getData<int8_t>().data();
    weights.columns = weight.getSizes()[0];
    weights.innerCount = weights.columnStride = weight.getSizes()[1];
    auto made = std::make_shared<PackedLinear>();
    made->memory = context.allocatePacked(kernels::getPackedGemmBytes(kernel, weights.columns, weights.depth()));
    made->packed = kernels::viewPackedGemm(kernel, weights.columns, weights.depth(), made->memory.get());
    // In parts, so that of a mapped file of weights only the part in work is in memory.
    int64_t panelBytes = kernel.columns * weights.depth(), step = std::max<int64_t>(1, kPackedAtOnce / std::max<int64_t>(panelBytes, 1));
    for (int64_t panel = 0, count = made->packed.panelCount(); panel < count; panel += step) {
      kernels::packGemmPanels(kernel, weights, panel, std::min(panel + step, count), made->memory.get());
      releasePages(weight, panel * panelBytes, std::min(panel + step, count) * panelBytes);
    }
    return made;
  });
}

} // namespace qfx::runtime
