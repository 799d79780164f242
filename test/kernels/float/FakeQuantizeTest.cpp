// Fake-quantize rows: the formula of numerics 4.3 element by element, equal results on all instruction sets.
#include "kernels/fake_quantize/FakeQuantize.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

#include <cmath>

using namespace qfx::kernels;
using namespace qfx::test;

static std::vector<Isa> allIsas() {
  std::vector<Isa> isas = vectorIsas();
  isas.push_back(Isa::Scalar);
  return isas;
}

static bool same(float a, float b) { return std::memcmp(&a, &b, 4) == 0 || (a == 0 && b == 0); }

static const FakeQuantizeParams kParams[] = {
    {1, 0, 0, 2}, {0.00214854861f, 100, 0, 255}, {0.1f, -5, -128, 127}, {3.5f, 7, 7, 7}, {1e-20f, 3, 0, 15}, {0.25f, 300, 0, 255}, {0.5f, 0, -1000000, 1000000}};

TEST_CASE("fake-quantize rows", "[float][fake_quantize]") {
  for (Isa isa : allIsas()) {
    const FakeQuantizeKernels &kernels = selectFakeQuantize(isa);
    bool ok = true;
    for (int n = 0; n <= 130; ++n)
      for (const FakeQuantizeParams &params : kParams) {
        std::vector<float> x = n % 3 ? nastyFloats(n + 8, static_cast<uint64_t>(n)) : Random(static_cast<uint64_t>(n)).floats(n + 8, -40, 40);
        const float *src = x.data() + n % 8;
        std::vector<float> y(static_cast<size_t>(n) + 1, 77.0f);
        std::vector<uint8_t> mask(static_cast<size_t>(n) + 1, 77);
        kernels.fakeQuantize(src, y.data(), n, params);
        kernels.fakeQuantizeMask(src, mask.data(), n, params);
        for (int i = 0; i < n; ++i) {
          const float code = static_cast<float>(params.zeroPoint) + std::nearbyint(src[i] * (1.0f / params.scale));
          const bool inside = static_cast<float>(params.quantMin) <= code && code <= static_cast<float>(params.quantMax);
          const float clamped = std::fmin(std::fmax(code, static_cast<float>(params.quantMin)), static_cast<float>(params.quantMax));
          ok = ok && same(y[static_cast<size_t>(i)], (clamped - static_cast<float>(params.zeroPoint)) * params.scale) &&
               mask[static_cast<size_t>(i)] == inside;
        }
        ok = ok && y.back() == 77.0f && mask.back() == 77; // nothing is written behind the end
      }
    INFO(getIsaName(isa));
    CHECK(ok);
  }
}

TEST_CASE("fake-quantize with wide bounds is the same where both work", "[float][fake_quantize]") {
  for (const FakeQuantizeParams &params : kParams)
    for (float value : nastyFloats(200, 5)) {
      float row;
      uint8_t mask;
      selectFakeQuantize(Isa::Scalar).fakeQuantize(&value, &row, 1, params);
      selectFakeQuantize(Isa::Scalar).fakeQuantizeMask(&value, &mask, 1, params);
      bool inMask;
      CHECK(same(row, fakeQuantizeWide(value, params, inMask)));
      CHECK(inMask == (mask != 0));
    }
}
