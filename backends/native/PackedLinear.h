// A linear layer's qint8 weight in the panels of the GEMM.
#ifndef BACKENDS_NATIVE_PACKEDLINEAR_H
#define BACKENDS_NATIVE_PACKEDLINEAR_H

#include "backends/runtime/BindContext.h"
#include "kernels/gemm/GemmPack.h"

#include <memory>

namespace qfx::runtime {

struct PackedLinear {
  kernels::PackedGemm packed;
  std::shared_ptr<std::byte> memory; ///< of `packed`
};

/// Packs weight [N, K] once per called module and `tag`, for the current instruction set; lets the pages of a mapped file go as it
/// proceeds.  An error if the weight is no matrix.
llvm::Expected<std::shared_ptr<PackedLinear>> packLinear(BindContext &context, llvm::StringRef tag, const Tensor &weight);

} // namespace qfx::runtime

#endif // BACKENDS_NATIVE_PACKEDLINEAR_H
