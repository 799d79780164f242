// Float GEMM: one fma chain per output, so every kernel gives the naive loop's bits, however the work is split.
#include "kernels/sgemm/Sgemm.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

#include <algorithm>
#include <cmath>

using namespace qfx::kernels;
using namespace qfx::test;

/// The definition in Sgemm.h.
static std::vector<float> naive(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                                int64_t strideN, int64_t strideK, const float *bias, float lo, float hi) {
  std::vector<float> c(m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float acc = bias ? bias[j] : 0.0f;
      for (int64_t p = 0; p < k; ++p)
        acc = std::fma(a[i * lda + p], b[j * strideN + p * strideK], acc);
      c[i * n + j] = acc < lo ? lo : acc > hi ? hi : acc;
    }
  return c;
}

static std::vector<const SgemmKernel *> usableKernels() {
  std::vector<const SgemmKernel *> kernels;
  for (const SgemmKernel &kernel : getSgemmKernels())
    if (isIsaSupported(kernel.isa))
      kernels.push_back(&kernel);
  return kernels;
}

TEST_CASE("sgemm equals the naive chain bit for bit around every tile edge", "[float][sgemm]") {
  const int64_t sizes[][3] = {{1, 1, 1},   {1, 64, 7},  {1, 130, 300}, {5, 16, 16}, {6, 16, 256},  {7, 17, 257},
                              {12, 33, 5}, {13, 31, 9}, {25, 48, 513}, {3, 5, 0},   {101, 20, 30}, {2, 128, 64}};
  for (const SgemmKernel *kernel : usableKernels())
    for (auto [m, n, k] : sizes)
      for (bool transposed : {false, true}) {
        Random random(m * 1000 + n * 10 + k);
        const int64_t lda = k + 3, ldc = n + 2, strideN = transposed ? 1 : k, strideK = transposed ? n : 1;
        std::vector<float> a = random.floats(m * lda + 1), b = random.floats(n * k + 1), bias = random.floats(n);
        const bool hasBias = n % 2, clamp = m % 2;
        SgemmArgs args;
        args.n = n;
        args.k = k;
        args.a = a.data();
        args.lda = lda;
        args.bias = hasBias ? bias.data() : nullptr;
        if (clamp) {
          args.lo = -5;
          args.hi = 6;
        }
        std::vector<float> want =
            naive(m, n, k, a.data(), lda, b.data(), strideN, strideK, args.bias, args.lo, args.hi);
        std::vector<float> packed(getSgemmPackedSize(*kernel, n, k) + 1), c(m * ldc, -77.0f), d(c);
        packSgemm(*kernel, n, k, b.data(), strideN, strideK, packed.data());
        args.packed = packed.data();
        args.c = c.data();
        args.ldc = ldc;
        const int64_t cut = random.below(m + 1), cutN = n / 2 / kernel->columns * kernel->columns;
        sgemm(*kernel, args, 0, cut, 0, n); // a split of rows and one of columns
        sgemm(*kernel, args, cut, m, 0, cutN);
        sgemm(*kernel, args, cut, m, cutN, n);
        std::vector<float> scratch(getSgemmScratchSize(*kernel, k) + 1);
        args.c = d.data();
        sgemmUnpacked(*kernel, args, b.data(), strideN, strideK, 0, m, scratch.data());
        bool same = true, unpacked = true, untouched = true;
        for (int64_t i = 0; i < m; ++i) {
          same = same && sameBits(&want[i * n], &c[i * ldc], n);
          unpacked = unpacked && sameBits(&want[i * n], &d[i * ldc], n);
          untouched = untouched && c[i * ldc + n] == -77.0f && d[i * ldc + n + 1] == -77.0f;
        }
        INFO(kernel->name << " " << m << "x" << n << "x" << k);
        CHECK(same);
        CHECK(unpacked);
        CHECK(untouched);
      }
}

TEST_CASE("sgemm's clamp lets NaN through", "[float][sgemm]") {
  for (const SgemmKernel *kernel : usableKernels()) {
    float a[] = {1, __builtin_nanf("")}, b[] = {2}, c[2];
    std::vector<float> packed(getSgemmPackedSize(*kernel, 1, 1));
    packSgemm(*kernel, 1, 1, b, 1, 1, packed.data());
    sgemm(*kernel, {1, 1, a, 1, packed.data(), nullptr, 0, 1, c, 1}, 0, 2, 0, 1);
    CHECK(c[0] == 1);
    CHECK(std::isnan(c[1]));
  }
}
