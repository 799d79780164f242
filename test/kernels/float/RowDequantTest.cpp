// Float results of rows with scales of their own: by their rule, the same bits on every instruction set.
#include "kernels/requant/RowDequant.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

#include <cmath>

using namespace qfx::kernels;
using namespace qfx::test;

TEST_CASE("sums of rows become floats by the rule on every instruction set", "[float][requant]") {
  std::vector<Isa> isas = vectorIsas();
  isas.push_back(Isa::Scalar);
  for (Isa isa : isas) {
    const RowDequantKernels &kernels = selectRowDequant(isa);
    bool same = true;
    for (int n = 1; n <= 130; ++n) {
      Random random(static_cast<uint64_t>(n));
      const int shift = n % 9; // unaligned starts
      std::vector<float> values(static_cast<size_t>(n + shift)), scale = random.floats(n + shift, 0.001f, 0.1f),
                         bias = random.floats(n + shift);
      std::vector<int32_t> sums(values.size()), weightSum(values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        sums[i] = static_cast<int32_t>(random.bits()) >> 2;
        weightSum[i] = static_cast<int32_t>(random.below(1 << 20)) - (1 << 19);
        std::memcpy(&values[i], &sums[i], sizeof(float));
      }
      const bool relu = n % 2, isNan = n % 7 == 0;
      RowDequant row{isNan ? __builtin_nanf("") : random.uniform(0.001f, 1), static_cast<int32_t>(random.below(256)), weightSum.data() + shift,
                     scale.data() + shift, bias.data() + shift, relu ? 0.0f : -__builtin_inff(), n % 3 == 0};
      kernels.finish(values.data() + shift, n, row);
      for (int i = 0; i < n; ++i) {
        size_t at = static_cast<size_t>(i + shift);
        const float total = static_cast<float>(sums[at] - row.zeroPoint * weightSum[at]), multiplier = row.scale * scale[at];
        const float product = total * multiplier;
        float expected = row.fusesBias ? std::fma(total, multiplier, bias[at]) : product + bias[at];
        expected = expected < row.floor ? row.floor : expected;
        same &= isNan ? std::isnan(values[at]) : std::memcmp(&expected, &values[at], sizeof(float)) == 0;
      }
    }
    INFO("isa " << static_cast<int>(isa));
    CHECK(same);
  }
}
