// Sums, means, softmax, layer norm and folded batch norm against double, equal bits on all instruction sets.
#include "kernels/reduce/Reduce.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

#include <array>
#include <cmath>

using namespace qfx::kernels;
using namespace qfx::test;

TEST_CASE("sums are accurate and independent of the instruction set", "[float][reduce]") {
  for (int n : {0, 1, 15, 16, 17, 100, 1023, 1024, 1025, 50000}) {
    std::vector<float> x = Random(n).floats(n, -1, 3);
    double want = 0, magnitude = 1;
    for (float v : x) {
      want += v;
      magnitude += std::fabs(v);
    }
    const double got = selectReduce(Isa::Scalar).sum(x.data(), n);
    CHECK(std::fabs(got - want) <= 1e-6 * magnitude);
    for (Isa isa : vectorIsas())
      CHECK(selectReduce(isa).sum(x.data(), n) == got);
  }
}

TEST_CASE("reductions over a middle dimension", "[float][reduce]") {
  for (auto [outer, reduced, inner] : {std::array<int64_t, 3>{3, 49, 130}, {2, 300, 1}, {4, 1, 7}, {1, 0, 3}}) {
    std::vector<float> x = Random(inner).floats(outer * reduced * inner), sum(outer * inner), mean(sum.size());
    for (int64_t o = 0; o < outer; ++o) {
      reduceMiddle(selectReduce(), x.data(), sum.data(), reduced, inner, false, o, o + 1);
      reduceMiddle(selectReduce(), x.data(), mean.data(), reduced, inner, true, o, o + 1);
    }
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t c = 0; c < inner; ++c) {
        double want = 0;
        for (int64_t r = 0; r < reduced; ++r)
          want += x[(o * reduced + r) * inner + c];
        CHECK(std::fabs(sum[o * inner + c] - want) <= 1e-5 * (1 + std::fabs(want)));
        if (reduced)
          CHECK(std::fabs(mean[o * inner + c] - want / static_cast<double>(reduced)) <= 1e-6);
        else
          CHECK(std::isnan(mean[o * inner + c]));
      }
  }
}

TEST_CASE("softmax and its logarithm", "[float][reduce]") {
  for (int n = 1; n <= 130; ++n) {
    std::vector<float> x = Random(n).floats(n, -30, 30), y(n), z(n), other(n);
    selectReduce(Isa::Scalar).softmax(x.data(), y.data(), n);
    selectReduce(Isa::Scalar).logSoftmax(x.data(), z.data(), n);
    double top = -1e9, total = 0;
    for (float v : x)
      top = std::max<double>(top, v);
    for (float v : x)
      total += std::exp(v - top);
    bool close = true;
    for (int i = 0; i < n; ++i) {
      close = close && std::fabs(y[i] - std::exp(x[i] - top) / total) <= 1e-6 * std::exp(x[i] - top) / total + 1e-12;
      close = close && std::fabs(z[i] - (x[i] - top - std::log(total))) <= 1e-5;
    }
    CHECK(close);
    for (Isa isa : vectorIsas()) {
      selectReduce(isa).softmax(x.data(), other.data(), n);
      CHECK(sameBits(y, other));
      selectReduce(isa).logSoftmax(x.data(), other.data(), n);
      CHECK(sameBits(z, other));
    }
  }
  // over a middle dimension, in place of a transpose
  std::vector<float> x = Random(9).floats(2 * 5 * 3), y(x.size()), scratch(5);
  softmaxMiddle(selectReduce(), x.data(), y.data(), 5, 3, false, 0, 2, scratch.data());
  for (int o = 0; o < 2; ++o)
    for (int c = 0; c < 3; ++c) {
      double total = 0;
      for (int i = 0; i < 5; ++i)
        total += y[(o * 5 + i) * 3 + c];
      CHECK(std::fabs(total - 1) < 1e-6);
    }
  const float inf = INFINITY, minus[] = {-inf, 0, -inf}, plus[] = {inf, 0, 1};
  float out[3];
  selectReduce().softmax(minus, out, 3);
  CHECK(out[0] == 0);
  CHECK(out[1] == 1);
  selectReduce().softmax(plus, out, 3);
  CHECK(std::isnan(out[0]));
}

TEST_CASE("maximum of a row", "[float][reduce]") {
  for (int n = 1; n <= 70; ++n) {
    std::vector<float> x = nastyFloats(n, n);
    bool nan = false;
    float top = -INFINITY;
    for (float v : x) {
      nan = nan || std::isnan(v);
      top = std::max(top, v);
    }
    std::vector<Isa> isas = vectorIsas();
    isas.push_back(Isa::Scalar);
    for (Isa isa : isas) {
      float got = selectReduce(isa).max(x.data(), n);
      CHECK((nan ? std::isnan(got) : got == top));
    }
  }
}

TEST_CASE("scale and shift, folded batch norm", "[float][reduce]") {
  for (int n = 1; n <= 130; ++n) {
    Random random(n);
    std::vector<float> x = random.floats(n), s = random.floats(n), b = random.floats(n), y(n), z(n);
    selectReduce(Isa::Scalar).scaleShift(x.data(), y.data(), n, s.data(), b.data());
    bool same = true;
    for (int i = 0; i < n; ++i)
      same = same && y[i] == x[i] * s[i] + b[i];
    for (Isa isa : vectorIsas()) {
      selectReduce(isa).scaleShift(x.data(), z.data(), n, s.data(), b.data());
      same = same && sameBits(y, z);
      selectReduce(isa).scaleShiftOne(x.data(), z.data(), n, s[0], b[0]);
      for (int i = 0; i < n; ++i)
        same = same && z[i] == x[i] * s[0] + b[0];
    }
    CHECK(same);
  }
  const float weight = 2, bias = 1, mean = 3, var = 4;
  float scale, shift;
  foldBatchNorm(1, &weight, &bias, &mean, &var, 0, &scale, &shift); // (x - 3) / 2 * 2 + 1
  CHECK(scale == 1);
  CHECK(shift == -2);
  foldBatchNorm(1, nullptr, nullptr, &mean, &var, 0, &scale, &shift);
  CHECK(scale == 0.5f);
  CHECK(shift == -1.5f);
}

TEST_CASE("layer norm of a row", "[float][reduce]") {
  std::vector<float> x = {1, 2, 3, 6}, y(4);
  selectReduce().layerNorm(x.data(), y.data(), 4, nullptr, nullptr, 0.5); // mean 3, variance 3.5, so divided by 2
  CHECK((y == std::vector<float>{-1, -0.5f, 0, 1.5f}));
  std::vector<float> weight = {2, 1, 3, -1}, bias = {0.5f, 0, 1, 1};
  selectReduce().layerNorm(x.data(), y.data(), 4, weight.data(), bias.data(), 0.5);
  CHECK((y == std::vector<float>{-1.5f, -0.5f, 1, -0.5f}));
}

TEST_CASE("layer norm has the same bits on every instruction set, at every length", "[float][reduce]") {
  std::vector<float> x(1300), weight(1300), bias(1300);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = std::sin(static_cast<float>(i) * 1.7f) * 3 + 5;
    weight[i] = std::cos(static_cast<float>(i) * 0.3f);
    bias[i] = static_cast<float>(i % 7) - 3;
  }
  for (int64_t n = 1; n <= 1300; n += n < 130 ? 1 : 117) {
    std::vector<float> expected(static_cast<size_t>(n)), actual(static_cast<size_t>(n));
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < n; ++i)
      mean += static_cast<double>(x[static_cast<size_t>(i)]) / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i)
      variance += std::pow(static_cast<double>(x[static_cast<size_t>(i)]) - mean, 2) / static_cast<double>(n);
    selectReduce(Isa::Scalar).layerNorm(x.data(), expected.data(), n, weight.data(), bias.data(), 1e-5);
    for (int64_t i = 0; i < n; ++i) {
      size_t k = static_cast<size_t>(i);
      double exact = (static_cast<double>(x[k]) - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(weight[k]) + static_cast<double>(bias[k]);
      CHECK(std::abs(static_cast<double>(expected[k]) - exact) <= 2e-5);
    }
    for (Isa isa : vectorIsas()) {
      selectReduce(isa).layerNorm(x.data(), actual.data(), n, weight.data(), bias.data(), 1e-5);
      CHECK(actual == expected);
    }
  }
}
