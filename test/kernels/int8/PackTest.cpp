// Packed weights hold what their headers promise: layout, column sums, and the order that keeps int16 sums exact.
#include "Catch.h"
#include "kernels/int8/Int8Cases.h"
#include "kernels/int8/TestedRows.h"

using namespace qfx::kernels;
using namespace qfx::test;

namespace {
/// Reads weight (n, k) back from the documented panel layout.
int8_t unpack(const PackedGemm &packed, int64_t n, int64_t k) {
  const GemmKernel &kernel = *packed.kernel;
  int64_t panel = n / kernel.columns, first = panel * kernel.columns;
  int64_t left = packed.columns - first;
  int64_t width = std::min<int64_t>(kernel.columns,
                                    (left + kernel.vectorColumns - 1) / kernel.vectorColumns * kernel.vectorColumns);
  int64_t step = k / kernel.kStep;
  if (packed.order) {
    const int32_t *order = packed.order + panel * packed.steps;
    step = std::find(order, order + packed.steps, step * kernel.kStep) - order;
  }
  const int8_t *block = packed.panels + first * packed.paddedDepth() + step * width * kernel.kStep;
  int64_t inStep = k % kernel.kStep;
  return block[(inStep / 4 * width + n - first) * 4 + inStep % 4];
}
} // namespace

TEST_CASE("packed GEMM panels read back, padding is zero, sums are right", "[pack]") {
  for (const ConvKernels &kernels : getTestedRows())
    for (int64_t n : {1, 8, 17, 66, 130})
      for (int64_t outer : {1, 3})
        for (int64_t inner : {1, 5, 16}) {
          std::mt19937 random(static_cast<uint32_t>(n * 100 + outer * 10 + inner));
          std::vector<int8_t> w = randomWeights(random, n * outer * inner, false);
          GemmWeights weights; // stored [n, inner, outer], as convolution weights are
          weights.data = w.data();
          weights.columns = n;
          weights.columnStride = outer * inner;
          weights.outerCount = outer;
          weights.outerStride = 1;
          weights.innerCount = inner;
          weights.innerStride = outer;
          Memory memory(getPackedGemmBytes(*kernels.gemm, n, outer * inner));
          PackedGemm packed = packGemm(*kernels.gemm, weights, memory.data());
          REQUIRE(memory.isIntact());
          for (int64_t c = 0; c < n; ++c) {
            int32_t sum = 0;
            for (int64_t k = 0; k < packed.paddedDepth(); ++k) {
              int8_t expected = k < outer * inner ? w[(c * inner + k % inner) * outer + k / inner] : 0;
              REQUIRE(int(unpack(packed, c, k)) == int(expected));
              sum += expected;
            }
            REQUIRE(packed.weightSum[c] == sum);
          }
        }
}

TEST_CASE("the leading steps of ordered panels cannot saturate int16", "[pack]") {
  for (const ConvKernels &kernels : getTestedRows()) {
    if (!kernels.gemm->hasOrder())
      continue;
    const int64_t n = 40, k = 400;
    for (bool extreme : {false, true}) {
      std::mt19937 random(9);
      std::vector<int8_t> w = randomWeights(random, n * k, extreme);
      if (!extreme)
        for (size_t i = 0; i < w.size(); i += 997)
          w[i] = w[std::min(i + 1, w.size() - 1)] = -128;
      GemmWeights weights;
      weights.data = w.data();
      weights.columns = n;
      weights.columnStride = weights.innerCount = k;
      Memory memory(getPackedGemmBytes(*kernels.gemm, n, k));
      PackedGemm packed = packGemm(*kernels.gemm, weights, memory.data());
      for (int64_t panel = 0; panel < packed.panelCount(); ++panel) {
        std::vector<bool> seen(packed.steps);
        for (int64_t step = 0; step < packed.steps; ++step) {
          int32_t start = packed.order[panel * packed.steps + step];
          REQUIRE(start % 8 == 0);
          REQUIRE(!seen[start / 8]);
          seen[start / 8] = true;
          if (step >= packed.safeSteps[panel])
            continue;
          // The worst codes of 0..127 for every int16 lane of every column.
          for (int64_t c = panel * 16; c < std::min<int64_t>(n, panel * 16 + 16); ++c)
            for (int lane = 0; lane < 4; lane += 2) {
              int most = 0, least = 0;
              for (int i : {lane, lane + 1, lane + 4, lane + 5}) {
                int value = w[c * k + start + i];
                (value > 0 ? most : least) += 127 * value;
              }
              REQUIRE(most <= 32767);
              REQUIRE(least >= -32768);
              if (step >= packed.balancedSteps[panel])
                continue;
              // Magnitudes of 128, each weight as it is or inverted.
              most = least = 0;
              for (int i : {lane, lane + 1, lane + 4, lane + 5}) {
                int value = w[c * k + start + i];
                most += 128 * std::max(value, ~value);
                least += 128 * std::min(value, ~value);
              }
              REQUIRE(most <= 32767);
              REQUIRE(least >= -32768);
            }
        }
        REQUIRE(packed.balancedSteps[panel] <= packed.safeSteps[panel]);
        if (!extreme)
          CHECK(packed.safeSteps[panel] > 0);
        else
          CHECK(packed.safeSteps[panel] < packed.steps);
      }
    }
  }
}

TEST_CASE("packed depthwise weights read back", "[pack]") {
  for (const ConvKernels &kernels : getTestedRows())
    for (int64_t channels : {1, 16, 33, 130})
      for (int64_t taps : {1, 4, 9, 25}) {
        std::mt19937 random(static_cast<uint32_t>(channels + taps));
        ConvShape shape;
        shape.inChannels = shape.outChannels = shape.groups = channels;
        shape.kernel[2] = taps;
        std::vector<int8_t> w = randomWeights(random, channels * taps, false);
        const DepthwiseKernel &kernel = *kernels.depthwise;
        Memory memory(getPackedDepthwiseBytes(shape, kernel));
        PackedDepthwise packed = packDepthwise(shape, kernel, w.data(), memory.data());
        REQUIRE(memory.isIntact());
        for (int64_t c = 0; c < channels; ++c) {
          int32_t sum = 0;
          for (int64_t t = 0; t < taps; ++t) {
            REQUIRE(int(getDepthwiseWeight(packed, c, t)) == int(w[c * taps + t]));
            // [block][group][vector][lane][element][tap], DepthwisePack.h
            int64_t inBlock = c % kernel.width, position = inBlock;
            if (kernel.tapGroup == 4)
              position = inBlock % 16 / 4 * (kernel.width / 4) + inBlock / 16 * 4 + inBlock % 4;
            int64_t group = c / kernel.width * packed.tapGroups() + t / kernel.tapGroup;
            int64_t index = (group * kernel.width + position) * kernel.tapGroup + t % kernel.tapGroup;
            REQUIRE(int(packed.weights[index]) == int(w[c * taps + t]));
            sum += w[c * taps + t];
          }
          REQUIRE(packed.weightSum[c] == sum);
        }
      }
}
