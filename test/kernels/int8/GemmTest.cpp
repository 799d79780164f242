// Every GEMM row against the plain triple loop of the specification, around tile edges and with extreme codes.
#include "Catch.h"
#include "kernels/gemm/Gemm.h"
#include "kernels/int8/Int8Cases.h"
#include "kernels/int8/TestedRows.h"

using namespace qfx::kernels;
using namespace qfx::test;

namespace {
struct Problem {
  int64_t m, n, k, lda, ldc;
  std::vector<uint8_t> a;
  std::vector<int8_t> w;
  std::unique_ptr<Scales> scales;

  Problem(uint32_t seed, int64_t m, int64_t n, int64_t k, Codes codes, bool extremeWeights, const ScaleOptions &options)
      : m(m), n(n), k(k), lda(k + 3), ldc(n + 5) {
    std::mt19937 random(seed);
    a = randomCodes(random, m * lda + 1, codes); // read from an odd address
    w = randomWeights(random, n * k, extremeWeights);
    scales = randomScales(random, n, k, options);
  }
  const uint8_t *src() const { return a.data() + 1; }

  int64_t accumulator(int64_t i, int64_t j) const {
    int64_t acc = 0;
    for (int64_t p = 0; p < k; ++p)
      acc += (int64_t(src()[i * lda + p]) - scales->spec.srcZeroPoint) *
             (w[j * k + p] - weightZeroPointOf(scales->spec, j));
    return acc;
  }
};

/// Packs, prepares and runs `problem` on one table row; every unit is a call of its own when `split`.
template <class T>
std::vector<T> run(const GemmKernel &kernel, const Problem &problem, TileOutput output, int threads, bool split) {
  GemmWeights weights;
  weights.data = problem.w.data();
  weights.columns = problem.n;
  weights.innerCount = problem.k;
  weights.columnStride = problem.k;
  Memory packedMemory(getPackedGemmBytes(kernel, problem.n, problem.k));
  PackedGemm packed = packGemm(kernel, weights, packedMemory.data());
  Memory tables(getRequantBytes(problem.n));
  RequantParams params = output == TileOutput::Code
                             ? prepareRequant(problem.scales->spec, packed.weightSum, tables.data())
                             : prepareDequant(problem.scales->spec, packed.weightSum, tables.data());
  GemmPlan plan = planGemm(packed, problem.m, threads);
  Memory scratch(getGemmScratchBytes(plan));
  std::vector<T> dst(problem.m * problem.ldc, T(77));
  int64_t step = split ? 1 : std::max<int64_t>(plan.units(), 1);
  for (int64_t unit = 0; unit < plan.units(); unit += step)
    runGemm(plan, params, output, problem.src(), problem.lda, dst.data(), problem.ldc, scratch.data(), unit,
            std::min(unit + step, plan.units()));
  REQUIRE(packedMemory.isIntact());
  REQUIRE(tables.isIntact());
  REQUIRE(scratch.isIntact());
  return dst;
}

void checkCodes(const GemmKernel &kernel, const Problem &problem, int threads, bool split) {
  std::vector<uint8_t> dst = run<uint8_t>(kernel, problem, TileOutput::Code, threads, split);
  for (int64_t i = 0; i < problem.m; ++i)
    for (int64_t j = 0; j < problem.ldc; ++j) {
      int expected = j < problem.n ? expectedCode(problem.scales->spec, j, problem.accumulator(i, j)) : 77;
      if (dst[i * problem.ldc + j] != expected) {
        INFO(kernel.name << " m " << problem.m << " n " << problem.n << " k " << problem.k << " at " << i << "," << j);
        REQUIRE(int(dst[i * problem.ldc + j]) == expected);
      }
    }
}

template <class Check> void forEachRow(Check check) {
  for (const ConvKernels &kernels : getTestedRows())
    check(*kernels.gemm);
}
} // namespace

TEST_CASE("gemm equals the specification around tile edges", "[gemm]") {
  forEachRow([&](const GemmKernel &kernel) {
    uint32_t seed = 1;
    for (int64_t m : {1, 2, 3, 4, 5, 6, 7, 11, 13})
      for (int64_t n : {1, 7, 8, 9, 15, 16, 17, 31, 48, 63, 64, 65, 80, 129})
        for (int64_t k : {1, 3, 4, 5, 8, 9, 31, 64, 147})
          for (Codes codes : {Codes::Any, Codes::Below128, Codes::Outliers, Codes::Extreme, Codes::Edge}) {
            ScaleOptions options;
            options.relu = seed % 3 == 0;
            options.perChannel = seed % 5 != 0;
            options.bias = seed % 7 != 0;
            options.stage = seed % 4 == 0 ? OutputStage::Q : OutputStage::F;
            bool extremeWeights = seed % 2 != 0;
            checkCodes(kernel, Problem(seed++, m, n, k, codes, extremeWeights, options), 1, false);
          }
  });
}

TEST_CASE("gemm with weight zero points", "[gemm]") {
  forEachRow([&](const GemmKernel &kernel) {
    for (uint32_t seed = 1; seed <= 24; ++seed) {
      ScaleOptions options;
      options.weightZeroPoint = true;
      options.perChannel = seed % 2;
      options.relu = seed % 3 == 0;
      options.stage = seed % 4 == 0 ? OutputStage::Q : OutputStage::F;
      checkCodes(kernel, Problem(seed, 1 + seed % 9, 5 + 7 * seed, 1 + 11 * seed, Codes::Any, false, options), 1,
                 false);
    }
  });
}

TEST_CASE("gemm splits into units without changing bits", "[gemm]") {
  forEachRow([&](const GemmKernel &kernel) {
    for (int threads : {1, 2, 7})
      checkCodes(kernel, Problem(5, 203, 150, 68, Codes::Below128, false, {}), threads, true);
  });
}

TEST_CASE("gemm of empty shapes", "[gemm]") {
  forEachRow([&](const GemmKernel &kernel) {
    checkCodes(kernel, Problem(1, 0, 9, 8, Codes::Any, false, {}), 2, true);
    checkCodes(kernel, Problem(1, 3, 9, 0, Codes::Any, false, {}), 1, true);
  });
}

TEST_CASE("gemm with a few codes above 127", "[gemm]") {
  forEachRow([&](const GemmKernel &kernel) {
    uint32_t seed = 1;
    for (int64_t k : {8, 70, 256, 600})
      for (int64_t n : {5, 16, 70})
        checkCodes(kernel, Problem(++seed, 101, n, k, Codes::Outliers, n == 16, {}), 1, false);
  });
}

TEST_CASE("known trap B70: no int16 saturation", "[gemm]") {
  forEachRow([&](const GemmKernel &kernel) {
    Problem problem(1, 1, 1, 2, Codes::Any, false, {});
    RequantSpec &spec = problem.scales->spec;
    double one = 1;
    spec.srcScale = 1;
    spec.srcZeroPoint = spec.dstZeroPoint = 0;
    spec.weightScale = &one;
    spec.bias = nullptr;
    spec.dstScale = 256;
    problem.a = {0, 255, 255, 0, 0, 0};
    problem.w = {114, 113};
    CHECK(int(run<uint8_t>(kernel, problem, TileOutput::Code, 1, false)[0]) == 226);
    problem.a = {0, 211, 171, 0, 0, 0};
    problem.w = {71, 107};
    CHECK(int(run<uint8_t>(kernel, problem, TileOutput::Code, 1, false)[0]) == 130); // 33278 / 256 = 129.99
  });
}

TEST_CASE("known trap B71: long reductions do not overflow", "[gemm]") {
  forEachRow([&](const GemmKernel &kernel) {
    for (int64_t k : {65793, 65794, 66311, 66312, 70000, 200000})
      for (int sign : {-1, 1}) {
        Problem problem(1, 2, 3, k, Codes::Any, false, {});
        std::fill(problem.a.begin(), problem.a.end(), 255);
        std::fill(problem.w.begin(), problem.w.end(), sign < 0 ? -128 : 127);
        problem.scales->spec.srcZeroPoint = 0;
        problem.scales->spec.dstZeroPoint = 128;
        problem.scales->spec.dstScale = problem.scales->spec.srcScale * 0.01 * double(k) * 255 * 128 / 100;
        checkCodes(kernel, problem, 1, false);
      }
  });
}

TEST_CASE("gemm with a float output", "[gemm]") {
  forEachRow([&](const GemmKernel &kernel) {
    uint32_t seed = 1;
    for (int64_t m : {1, 4, 7})
      for (int64_t n : {1, 8, 17, 70})
        for (int64_t k : {5, 64, 70001}) {
          ScaleOptions options;
          options.relu = seed % 2;
          options.weightZeroPoint = seed % 5 == 0;
          options.bias = seed % 3 != 0;
          options.fusesBias = seed % 4 < 2;
          Problem problem(seed++, m, n, k, Codes::Any, false, options);
          std::vector<float> dst = run<float>(kernel, problem, TileOutput::Float, 1, false);
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j)
              REQUIRE(dst[i * problem.ldc + j] == expectedFloat(problem.scales->spec, j, problem.accumulator(i, j)));
        }
  });
}
