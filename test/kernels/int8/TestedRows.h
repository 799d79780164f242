// The table rows that a build of the int8 tests runs: those this processor has, or, with QFX_SIMDE_ROWS, the rows of
// newer x86 processors compiled over SIMDe.
#ifndef TEST_KERNELS_INT8_TESTEDROWS_H
#define TEST_KERNELS_INT8_TESTEDROWS_H

#include "kernels/conv/Conv.h"

#include <vector>

#ifdef QFX_SIMDE_ROWS
// Second copies of the table's rows, named simde_* by the build.
namespace qfx::kernels {
#define QFX_GEMM(Isa, name, ...) void simde_##name(int rows, const GemmTile &tile);
#include "kernels/gemm/GemmKernels.def"
#define QFX_DEPTHWISE(Isa, name, ...) void simde_##name(const DepthwiseTile &tile);
#include "kernels/depthwise/DepthwiseKernels.def"
} // namespace qfx::kernels
#endif

namespace qfx::test {

inline std::vector<kernels::ConvKernels> getTestedRows() {
  using namespace kernels;
  std::vector<ConvKernels> rows;
#ifdef QFX_SIMDE_ROWS
  static std::vector<GemmKernel> gemm;
  static std::vector<DepthwiseKernel> depthwise;
  gemm.clear();
  depthwise.clear();
#define QFX_GEMM(isa, name, mr, nr, kStep, vectorColumns, below128)                                                    \
  if (Isa::isa == Isa::AvxVnni || Isa::isa == Isa::Avx512Vnni)                                                         \
    gemm.push_back({Isa::isa, "simde_" #name, mr, nr, kStep, vectorColumns, below128, simde_##name});
#include "kernels/gemm/GemmKernels.def"
#define QFX_DEPTHWISE(isa, name, width, tapGroup, below128)                                                            \
  if (Isa::isa == Isa::AvxVnni || Isa::isa == Isa::Avx512Vnni)                                                         \
    depthwise.push_back({Isa::isa, "simde_" #name, width, tapGroup, below128, simde_##name});
#include "kernels/depthwise/DepthwiseKernels.def"
  for (size_t i = 0; i < gemm.size(); ++i)
    rows.push_back({&gemm[i], &depthwise[i]});
#else
  for (Isa isa : {Isa::Scalar, Isa::Avx2, Isa::AvxVnni, Isa::Avx512Vnni, Isa::NeonDot})
    if (isIsaSupported(isa))
      rows.push_back(selectConv(isa));
#endif
  return rows;
}

} // namespace qfx::test

#endif // TEST_KERNELS_INT8_TESTEDROWS_H
