// The AVX-512 float tiles executed by emulation: the same bits as scalar's.
#include "kernels/sgemm/Sgemm.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

using namespace qfx::kernels;
using namespace qfx::test;

namespace qfx::kernels {
extern const SgemmTileTable simde_sgemm_f32_12x32_avx512;
}

TEST_CASE("emulated AVX-512 tiles equal scalar's bits", "[float][sgemm]") {
  const SgemmKernel emulated = {Isa::Avx512Vnni, "simde_sgemm_f32_12x32_avx512", 12, 32, &simde_sgemm_f32_12x32_avx512};
  const SgemmKernel &scalar = selectSgemm(Isa::Scalar);
  const int64_t sizes[][3] = {{1, 140, 33}, {12, 32, 9},  {11, 31, 300}, {13, 33, 1}, {25, 64, 257},
                              {2, 5, 7},    {10, 40, 12}, {9, 32, 5},    {8, 3, 4},   {7, 65, 64}};
  for (auto [m, n, k] : sizes) {
    Random random(m + n + k);
    std::vector<float> a = random.floats(m * k), b = random.floats(n * k), bias = random.floats(n);
    a[0] = __builtin_nanf("");
    std::vector<float> results[2];
    for (int which = 0; which < 2; ++which) {
      const SgemmKernel &kernel = which ? emulated : scalar;
      std::vector<float> packed(getSgemmPackedSize(kernel, n, k));
      packSgemm(kernel, n, k, b.data(), k, 1, packed.data());
      results[which].resize(m * n);
      sgemm(kernel, {n, k, a.data(), k, packed.data(), bias.data(), -4, 5, results[which].data(), n}, 0, m, 0, n);
    }
    INFO(m << "x" << n << "x" << k);
    CHECK(sameBits(results[0], results[1]));
  }
}
