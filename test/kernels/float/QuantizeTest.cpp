// Quantize and dequantize: the rule of numerics.md 1.4-1.8, known traps, all instruction sets.
#include "kernels/quantize/Quantize.h"
#include "kernels/quantize/HalfFloat.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace qfx::kernels;
using namespace qfx::test;

/// numerics.md 1.4 and the normative column of 1.8, element by element.
template <class T> static T quantizeOne(float x, double scale, int32_t zeroPoint) {
  float inv = 1.0f / static_cast<float>(scale), t = x * inv;
  if (std::isnan(t))
    return static_cast<T>(CodeRange<T>::lo);
  double v = std::nearbyint(static_cast<double>(t)) + zeroPoint;
  return static_cast<T>(std::min<double>(std::max<double>(v, CodeRange<T>::lo), CodeRange<T>::hi));
}

template <class T> static void quantizeBy(const QuantizeKernels &k, const float *s, T *d, int64_t n, const QParams &p) {
  if constexpr (sizeof(T) == 1 && std::is_unsigned_v<T>)
    k.quantizeU8(s, d, n, p);
  else
    k.quantizeS8(s, d, n, p);
}
template <class T>
static void dequantizeBy(const QuantizeKernels &k, const T *s, float *d, int64_t n, const QParams &p) {
  if constexpr (std::is_unsigned_v<T>)
    k.dequantizeU8(s, d, n, p);
  else
    k.dequantizeS8(s, d, n, p);
}

TEMPLATE_TEST_CASE("quantize and dequantize follow the rule on every instruction set", "[float][quantize]", uint8_t,
                   int8_t) {
  using T = TestType;
  std::vector<Isa> isas = vectorIsas();
  isas.push_back(Isa::Scalar);
  for (Isa isa : isas) {
    const QuantizeKernels &kernels = selectQuantize(isa);
    bool same = true, back = true;
    for (int n = 1; n <= 130; ++n) {
      Random random(n);
      QParams params = {random.uniform(1e-3f, 2), CodeRange<T>::lo + static_cast<int32_t>(random.below(256))};
      if (n == 7)
        params.scale = 0; // accepted: everything saturates
      std::vector<float> x = nastyFloats(n + 8, n);
      std::vector<T> got(n + 8);
      int shift = n % 5;
      quantizeBy<T>(kernels, x.data() + shift, got.data() + shift, n, params);
      for (int i = 0; i < n; ++i)
        same = same && got[shift + i] == quantizeOne<T>(x[shift + i], params.scale, params.zeroPoint);
      std::vector<float> y(n + 8);
      dequantizeBy<T>(kernels, got.data() + shift, y.data(), n, params);
      for (int i = 0; i < n; ++i)
        back = back && y[i] == static_cast<float>(params.scale) *
                                   static_cast<float>(static_cast<int32_t>(got[shift + i]) - params.zeroPoint);
    }
    INFO(getIsaName(isa));
    CHECK(same);
    CHECK(back);
  }
}

template <class T> static std::vector<int> quantizeList(std::vector<float> x, double scale, int32_t zeroPoint) {
  std::vector<T> q(x.size());
  quantizeBy<T>(selectQuantize(), x.data(), q.data(), static_cast<int64_t>(x.size()), {scale, zeroPoint});
  return {q.begin(), q.end()};
}

TEST_CASE("quantize: worked examples and traps", "[float][quantize]") {
  const float inf = __builtin_inff(), nan = __builtin_nanf("");
  // operators.md 26 X68, X69
  CHECK(quantizeList<uint8_t>({-1.f, -.75f, -.25f, .25f, .75f, 1.25f, 1.75f, 200.f, -200.f}, .5, 3) ==
        std::vector<int>{1, 1, 3, 3, 5, 5, 7, 255, 0});
  CHECK(quantizeList<uint8_t>({.273939937f}, .00214854861, 0) == std::vector<int>{128});
  // known_traps B76, at both lengths it names
  CHECK(quantizeList<uint8_t>({1, inf, nan, -inf, 26, 0x1p40f}, .1, 10) == std::vector<int>{20, 255, 0, 0, 255, 255});
  std::vector<float> many;
  for (int i = 0; i < 70; ++i)
    many.push_back(std::vector<float>{1, inf, nan, -inf, 26, 0x1p40f}[i % 6]);
  std::vector<int> codes = quantizeList<uint8_t>(many, .1, 10);
  for (int i = 0; i < 70; ++i)
    CHECK(codes[i] == std::vector<int>{20, 255, 0, 0, 255, 255}[i % 6]);
  // known_traps B78, B79
  CHECK(quantizeList<uint8_t>({.25f, .75f, 1.25f, 1.75f}, .5, 1) == std::vector<int>{1, 3, 3, 5});
  CHECK(quantizeList<int8_t>({-37.35000228881836f, -35.25f}, .3f, 0) == std::vector<int>{-125, -118});
}

TEST_CASE("qint32 adds its zero point in f32 and saturates", "[float][quantize]") {
  std::vector<float> x = {16777217.f, 123456789.f, 3e9f, -3e9f, __builtin_nanf("")};
  std::vector<int32_t> q(x.size());
  quantizeS32(x.data(), q.data(), 5, {1.0, 3});
  // numerics.md 1.4's two numbers are for the int inputs 16777217 and 123456789, which f32 holds as 16777216, 123456792
  CHECK(q[0] == 16777220);
  CHECK(q[1] == 123456792);
  CHECK(q[2] == INT32_MAX);
  CHECK(q[3] == INT32_MIN);
  CHECK(q[4] == INT32_MIN);
  std::vector<int32_t> codes = {INT32_MAX, INT32_MIN, 5};
  std::vector<float> y(3);
  dequantizeS32(codes.data(), y.data(), 3, {0.5, -1});
  CHECK(y[0] == 0.5f * 2147483648.0f);
  CHECK(y[1] == 0.5f * -2147483647.0f);
  CHECK(y[2] == 3.0f);
}

TEMPLATE_TEST_CASE("per-channel quantization follows the logical channel", "[float][quantize]", uint8_t, int8_t,
                   int32_t) {
  using T = TestType;
  for (auto [outer, channels, inner] : {std::array<int64_t, 3>{2, 5, 7}, {3, 300, 1}, {1, 70, 33}, {4, 1, 1}}) {
    Random random(channels);
    std::vector<float> x = random.floats(outer * channels * inner, -40, 40);
    std::vector<double> scale;
    std::vector<int32_t> zeroPoint;
    for (int64_t c = 0; c < channels; ++c) {
      scale.push_back(0.01 + 0.01 * static_cast<double>(random.below(50)));
      zeroPoint.push_back(static_cast<int32_t>(random.below(100)));
    }
    std::vector<T> q(x.size());
    std::vector<float> y(x.size());
    quantizePerChannel(x.data(), q.data(), outer, channels, inner, scale.data(), zeroPoint.data());
    dequantizePerChannel(q.data(), y.data(), outer, channels, inner, scale.data(), zeroPoint.data());
    bool same = true, back = true;
    for (size_t i = 0; i < x.size(); ++i) {
      size_t c = i / inner % channels;
      if constexpr (sizeof(T) == 1)
        same = same && q[i] == quantizeOne<T>(x[i], scale[c], zeroPoint[c]);
      else
        same = same &&
               q[i] == static_cast<int>(std::nearbyint(x[i] * (1.0f / static_cast<float>(scale[c])))) + zeroPoint[c];
      back = back && y[i] == static_cast<float>(static_cast<double>(q[i] - zeroPoint[c]) * scale[c]);
    }
    CHECK(same);
    CHECK(back);
  }
  // X70
  std::vector<float> x = {.1f, -.25f, 1.f, 2.5f};
  double scale[] = {.1, .5};
  int32_t zeroPoint[] = {0, 10};
  std::vector<T> q(4);
  if constexpr (std::is_signed_v<T>) {
    quantizePerChannel(x.data(), q.data(), 1, 2, 2, scale, zeroPoint);
    CHECK(q == std::vector<T>{1, -2, 12, 15});
  }
}

TEST_CASE("half floats convert both ways", "[float][half]") {
  std::vector<uint16_t> all(65536), back(65536);
  std::vector<float> wide(65536);
  for (int i = 0; i < 65536; ++i)
    all[i] = static_cast<uint16_t>(i);
  convertF16ToF32(all.data(), wide.data(), 65536);
  convertF32ToF16(wide.data(), back.data(), 65536);
  bool exact = true, values = true;
  for (int i = 0; i < 65536; ++i) {
    int exponent = i >> 10 & 31, mantissa = i & 1023;
    bool nan = exponent == 31 && mantissa;
    exact = exact && (back[i] == (nan ? i | 0x200 : i)); // signalling NaNs come out quiet
    double want = exponent == 31 ? INFINITY
                  : exponent     ? std::ldexp(1024 + mantissa, exponent - 25)
                                 : std::ldexp(mantissa, -24);
    if (!nan)
      values = values && std::fabs(wide[i]) == want && std::signbit(wide[i]) == (i >= 32768);
  }
  CHECK(exact);
  CHECK(values);
  convertBf16ToF32(all.data(), wide.data(), 65536);
  convertF32ToBf16(wide.data(), back.data(), 65536);
  bool bfloat = true;
  for (int i = 0; i < 65536; ++i)
    bfloat = bfloat && (back[i] == i || (std::isnan(wide[i]) && back[i] == 0x7fc0));
  CHECK(bfloat);
  // rounding: half to even, overflow to infinity, underflow to even
  auto f16 = [](float x) {
    uint16_t h;
    convertF32ToF16(&x, &h, 1);
    return h;
  };
  CHECK(f16(2049.0f) == f16(2048.0f));
  CHECK(f16(2051.0f) == f16(2052.0f));
  CHECK(f16(65519.0f) == 0x7bff);
  CHECK(f16(65520.0f) == 0x7c00);
  CHECK(f16(0x1p-25f) == 0);
  CHECK(f16(0x1.8p-24f) == 2);
  CHECK(f16(-0x1.2p-25f) == 0x8001);
  auto bf16 = [](float x) {
    uint16_t h;
    convertF32ToBf16(&x, &h, 1);
    return h;
  };
  CHECK(bf16(1.0f + 0x1p-8f) == 0x3f80); // tie to even
  CHECK(bf16(1.0f + 0x3p-8f) == 0x3f82);
}
