// Quantized add, mul, tables, clamps and batch norm: operators.md 6, 7, 9.1 and its worked examples.
#include "kernels/elementwise/CodeLut.h"
#include "kernels/elementwise/QuantizedBatchNorm.h"
#include "kernels/elementwise/QuantizedBinary.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

#include <algorithm>
#include <cmath>

using namespace qfx::kernels;
using namespace qfx::test;

template <class T> static T clampCode(double v, int32_t lo) {
  return static_cast<T>(std::min<double>(std::max<double>(v, lo), CodeRange<T>::hi));
}

template <class T> static auto addOf(const QuantizedBinaryKernels &k) {
  if constexpr (std::is_unsigned_v<T>)
    return k.addU8;
  else
    return k.addS8;
}
template <class T> static auto mulOf(const QuantizedBinaryKernels &k) {
  if constexpr (std::is_unsigned_v<T>)
    return k.mulU8;
  else
    return k.mulS8;
}

TEMPLATE_TEST_CASE("quantized add and mul follow the rule on every instruction set", "[float][quantized]", uint8_t,
                   int8_t) {
  using T = TestType;
  std::vector<Isa> isas = vectorIsas();
  isas.push_back(Isa::Scalar);
  for (Isa isa : isas) {
    const QuantizedBinaryKernels &kernels = selectQuantizedBinary(isa);
    bool addSame = true, mulSame = true;
    for (int n = 1; n <= 130; ++n)
      for (int steps = 0; steps < 4; ++steps) {
        Random random(n * 4 + steps);
        auto params = [&] {
          return QParams{random.uniform(0.01f, 0.2f), CodeRange<T>::lo + static_cast<int32_t>(random.below(256))};
        };
        const QParams pa = params(), pb = params(), po = params();
        const bool relu = random.below(2);
        std::vector<T> a = random.codes<T>(n + 9), b = random.codes<T>(n + 9), got(n), product(n);
        int shift = n % 9, sa = steps & 1, sb = steps >> 1;
        addOf<T>(kernels)(a.data() + shift, sa, b.data() + shift, sb, got.data(), n,
                          makeQuantizedAddParams(pa, pb, po, relu));
        mulOf<T>(kernels)(a.data() + shift, sa, b.data() + shift, sb, product.data(), n,
                          makeQuantizedMulParams(pa, pb, po, relu));
        const float s1 = static_cast<float>(pa.scale), s2 = static_cast<float>(pb.scale);
        const float inv = 1.0f / static_cast<float>(po.scale);
        for (int i = 0; i < n; ++i) {
          int x = a[shift + i * sa], y = b[shift + i * sb];
          float sum = std::fma(s1, static_cast<float>(x), -(s1 * static_cast<float>(pa.zeroPoint))) +
                      std::fma(s2, static_cast<float>(y), -(s2 * static_cast<float>(pb.zeroPoint)));
          if (relu)
            sum = std::max(sum, 0.0f);
          T want = clampCode<T>(std::nearbyint(sum * inv) + po.zeroPoint, CodeRange<T>::lo);
          addSame = addSame && got[i] == want;
          float multiplier = s1 * s2 * inv;
          float t = static_cast<float>((x - pa.zeroPoint) * (y - pb.zeroPoint)) * multiplier;
          want = clampCode<T>(std::nearbyint(t) + po.zeroPoint, relu ? po.zeroPoint : CodeRange<T>::lo);
          mulSame = mulSame && product[i] == want;
        }
      }
    INFO(getIsaName(isa));
    CHECK(addSame);
    CHECK(mulSame);
  }
}

using Codes = std::vector<uint8_t>;

static Codes addCodes(Codes a, QParams pa, Codes b, QParams pb, QParams po, bool relu) {
  Codes out(b.size());
  selectQuantizedBinary().addU8(a.data(), 1, b.data(), 1, out.data(), static_cast<int64_t>(out.size()),
                                makeQuantizedAddParams(pa, pb, po, relu));
  return out;
}
static Codes mulCodes(Codes a, QParams pa, Codes b, QParams pb, QParams po, bool relu) {
  Codes out(b.size());
  selectQuantizedBinary().mulU8(a.data(), 1, b.data(), 1, out.data(), static_cast<int64_t>(out.size()),
                                makeQuantizedMulParams(pa, pb, po, relu));
  return out;
}

TEST_CASE("quantized add and mul: worked examples X17-X21", "[float][quantized]") {
  const Codes p = {0, 100, 255}, r = {50, 60, 70};
  const QParams pp = {.1, 100}, rp = {.05, 60};
  CHECK(addCodes(p, pp, r, rp, {.2, 90}, false) == Codes{38, 90, 170});
  CHECK(addCodes(p, pp, r, rp, {.2, 90}, true) == Codes{90, 90, 170});
  CHECK(mulCodes(p, pp, r, rp, {.1, 128}, false) == Codes{178, 128, 206});
  CHECK(mulCodes(p, pp, r, rp, {.1, 128}, true) == Codes{178, 128, 206});
  const Codes one = {1, 2, 3};
  CHECK(addCodes({0, 10, 50}, {.05, 100}, one, {.1, 0}, {.2, 10}, false) == Codes{0, 0, 0});
  CHECK(addCodes({128, 200, 255}, {.05, 100}, one, {.1, 0}, {.2, 10}, false) == Codes{18, 36, 50});
}

static Codes mapCodes(const CodeLut &lut, const Codes &codes) {
  Codes out(codes.size());
  selectCodeMap().applyLut(codes.data(), out.data(), static_cast<int64_t>(codes.size()), lut);
  return out;
}

static const Codes kV = {0, 10, 50, 128, 200, 255};
static const QParams kVParams = {.05, 100};

static Codes unaryOnV(UnaryKind kind, UnaryParams params, QParams out) {
  CodeLut lut;
  buildUnaryLut(kind, params, CodeType::U8, kVParams, CodeType::U8, out, lut);
  return mapCodes(lut, kV);
}

TEST_CASE("quantized scalars: worked examples X22-X29", "[float][quantized]") {
  struct Case {
    double c;
    bool relu;
    Codes codes;
    double scale;
    int zeroPoint;
  };
  CodeLut lut;
  QParams out;
  for (const Case &c :
       {Case{1, false, {0, 10, 50, 128, 200, 255}, .05, 80}, Case{8, false, {49, 57, 89, 152, 210, 255}, .06176471, 0},
        Case{-10, false, {0, 9, 43, 109, 170, 217}, .05882353, 255},
        Case{1, true, {80, 80, 80, 128, 200, 255}, .05, 80},
        Case{0.025, false, {0, 10, 50, 128, 200, 255}, .05, 100}}) {
    buildAddScalarLut(CodeType::U8, kVParams, c.c, c.relu, out, lut);
    INFO("add " << c.c);
    CHECK(mapCodes(lut, kV) == c.codes);
    CHECK(std::fabs(out.scale - c.scale) <= 1e-6 * c.scale);
    CHECK(out.zeroPoint == c.zeroPoint);
  }
  for (const Case &c : {Case{2, false, {0, 10, 50, 128, 200, 255}, .1, 100}, Case{0, false, {0, 0, 0, 0, 0, 0}, 1, 0},
                        Case{-2, false, {255, 245, 205, 127, 55, 0}, .1, 155},
                        Case{-2, true, {255, 245, 205, 155, 155, 155}, .1, 155}}) {
    buildMulScalarLut(CodeType::U8, kVParams, c.c, c.relu, out, lut);
    INFO("mul " << c.c);
    CHECK(mapCodes(lut, kV) == c.codes);
    CHECK(std::fabs(out.scale - c.scale) <= 1e-6 * c.scale);
    CHECK(out.zeroPoint == c.zeroPoint);
  }
  buildAddScalarLut(CodeType::S8, {.1, 0}, 1e30, false, out, lut); // absurd, but no crash
  CHECK(out.zeroPoint == -128);
}

TEST_CASE("requantize and cat: worked examples X30-X32", "[float][quantized]") {
  CodeLut a, b;
  for (bool relu : {false, true}) {
    buildRequantizeLut(DequantizeRule::Exact, CodeType::U8, {.1, 0}, CodeType::U8, {.3, 7}, relu, a);
    buildRequantizeLut(DequantizeRule::Exact, CodeType::U8, {.2, 5}, CodeType::U8, {.3, 7}, relu, b);
    CHECK(mapCodes(a, {1, 2}) == Codes{7, 8});
    CHECK(mapCodes(b, {1, 2}) == (relu ? Codes{7, 7} : Codes{4, 5}));
  }
  buildRequantizeLut(DequantizeRule::Exact, CodeType::U8, {.2, 5}, CodeType::U8, {.1, 0}, false, b);
  CHECK(mapCodes(b, {1, 2}) == Codes{0, 0});
  buildRequantizeLut(DequantizeRule::Exact, CodeType::S8, {.5, 0}, CodeType::U8, {.5, 128}, false, b);
  CHECK(mapCodes(b, {0x80, 0, 0x7f}) == Codes{0, 128, 255}); // qint8 -128, 0, 127
}

TEST_CASE("quantized activations: worked examples X33-X46 and traps", "[float][quantized]") {
  const QParams unit = {1.0 / 256, 0};
  CHECK(unaryOnV(UnaryKind::Sigmoid, {}, unit) == Codes{2, 3, 19, 205, 254, 255});
  CHECK(unaryOnV(UnaryKind::Tanh, {}, {1.0 / 128, 128}) == Codes{0, 0, 2, 241, 255, 255});
  CHECK(unaryOnV(UnaryKind::Hardsigmoid, {}, unit) == Codes{0, 0, 21, 188, 255, 255});
  CHECK(unaryOnV(UnaryKind::Hardswish, {}, {.04, 20}) == Codes{20, 20, 15, 46, 145, 214});
  CHECK(unaryOnV(UnaryKind::Elu, {1, 1, 1}, {.05, 40}) == Codes{20, 20, 22, 68, 140, 195});
  CHECK(unaryOnV(UnaryKind::Elu, {2, 1, 0.5f}, {.05, 40}) == Codes{3, 4, 11, 68, 140, 195});
  CHECK(unaryOnV(UnaryKind::LeakyRelu, {.1f}, kVParams) == Codes{90, 91, 95, 128, 200, 255});
  CHECK(unaryOnV(UnaryKind::LeakyRelu, {.1f}, {.1, 60}) == Codes{55, 56, 58, 74, 110, 138});
  CHECK(unaryOnV(UnaryKind::Threshold, {1, -.5f}, kVParams) == Codes{90, 90, 90, 128, 200, 255});
  CHECK(unaryOnV(UnaryKind::Gelu, {}, kVParams) == Codes{100, 100, 100, 126, 200, 255});
  CodeLut lut; // X36: qint8
  buildUnaryLut(UnaryKind::Sigmoid, {}, CodeType::S8, {.05, 0}, CodeType::S8, {1.0 / 256, -128}, lut);
  CHECK(mapCodes(lut, {156, 246, 0, 10, 100}) == Codes{130, 225, 0, 31, 126}); // -100 -10 0 10 100 -> -126 -31 0 31 126
  // known_traps B75
  buildUnaryLut(UnaryKind::LeakyRelu, {.1f}, CodeType::U8, {0.06177325174212456, 126}, CodeType::U8,
                {0.06177325174212456, 126}, lut);
  CHECK(lut.entry[91] == 123);
  buildUnaryLut(UnaryKind::Sigmoid, {}, CodeType::U8, {1028.02, 255}, CodeType::U8, unit, lut);
  CHECK(lut.entry[255] == 128);
  // X42, X43: bounds as codes
  auto clampV = [](float lo, float hi) {
    Codes out(kV.size());
    selectCodeMap().clampU8(kV.data(), out.data(), 6, static_cast<uint8_t>(quantizeValue(lo, CodeType::U8, kVParams)),
                            static_cast<uint8_t>(quantizeValue(hi, CodeType::U8, kVParams)));
    return out;
  };
  CHECK(clampV(0, 6) == Codes{100, 100, 100, 128, 200, 220});
  CHECK(clampV(-3, 4) == Codes{40, 40, 50, 128, 180, 180});
}

TEST_CASE("tables and clamps agree on all instruction sets", "[float][quantized]") {
  for (Isa isa : vectorIsas()) {
    const CodeMapKernels &scalar = selectCodeMap(Isa::Scalar), &vector = selectCodeMap(isa);
    bool same = true;
    for (int n = 1; n <= 300; ++n) {
      Random random(n);
      CodeLut lut;
      for (uint8_t &entry : lut.entry)
        entry = static_cast<uint8_t>(random.bits());
      std::vector<uint8_t> src = random.codes<uint8_t>(n + 7), want(n), got(n);
      const uint8_t *s = src.data() + n % 7;
      scalar.applyLut(s, want.data(), n, lut);
      vector.applyLut(s, got.data(), n, lut);
      same = same && want == got;
      for (int i = 0; i < n; ++i)
        same = same && want[i] == lut.entry[s[i]];
      uint8_t lo = static_cast<uint8_t>(random.bits()), hi = static_cast<uint8_t>(random.bits());
      scalar.clampU8(s, want.data(), n, lo, hi);
      vector.clampU8(s, got.data(), n, lo, hi);
      same = same && want == got && want[0] == std::min(std::max(s[0], lo), hi);
      auto asSigned = [](auto *p) { return reinterpret_cast<const int8_t *>(p); };
      scalar.clampS8(asSigned(s), reinterpret_cast<int8_t *>(want.data()), n, static_cast<int8_t>(lo),
                     static_cast<int8_t>(hi));
      vector.clampS8(asSigned(s), reinterpret_cast<int8_t *>(got.data()), n, static_cast<int8_t>(lo),
                     static_cast<int8_t>(hi));
      same = same && want == got;
    }
    CHECK(same);
  }
}

TEST_CASE("quantized batch norm: worked examples X62, X63", "[float][quantized]") {
  const float weight[] = {1.5f, -.5f}, bias[] = {.2f, .1f}, mean[] = {.5f, 1.f}, var[] = {4.f, .25f};
  float alpha[2], beta[2];
  const QParams in = {.1, 40}, out = {.1, 60};
  foldQuantizedBatchNorm(2, weight, bias, mean, var, 1e-5f, in, out, alpha, beta);
  const Codes pixels = {10, 50, 20, 60, 30, 70, 40, 80}; // B2, channels innermost
  for (bool relu : {false, true}) {
    Codes got(8);
    for (int p = 0; p < 4; ++p)
      selectQuantizedBatchNorm().rowU8(pixels.data() + 2 * p, got.data() + 2 * p, 2, alpha, beta, {40, 60, relu});
    CHECK(got == (relu ? Codes{60, 61, 60, 60, 60, 60, 60, 60} : Codes{36, 61, 43, 51, 51, 41, 58, 31}));
  }
}

TEMPLATE_TEST_CASE("quantized batch norm follows the rule on every instruction set", "[float][quantized]", uint8_t,
                   int8_t) {
  using T = TestType;
  std::vector<Isa> isas = vectorIsas();
  isas.push_back(Isa::Scalar);
  for (Isa isa : isas) {
    bool same = true;
    for (int n = 1; n <= 130; ++n) {
      Random random(n);
      std::vector<T> src = random.codes<T>(n), got(n);
      std::vector<float> alpha = random.floats(n, -2, 2), beta = random.floats(n, -50, 50);
      const int32_t zi = CodeRange<T>::lo + static_cast<int32_t>(random.below(256));
      const int32_t zo = CodeRange<T>::lo + static_cast<int32_t>(random.below(256));
      const bool relu = n % 2;
      const QuantizedBatchNormKernels &kernels = selectQuantizedBatchNorm(isa);
      if constexpr (std::is_unsigned_v<T>)
        kernels.rowU8(src.data(), got.data(), n, alpha.data(), beta.data(), {zi, zo, relu});
      else
        kernels.rowS8(src.data(), got.data(), n, alpha.data(), beta.data(), {zi, zo, relu});
      for (int i = 0; i < n; ++i) {
        float t = std::fma(alpha[i], static_cast<float>(src[i] - zi), beta[i]);
        same = same && got[i] == clampCode<T>(std::nearbyint(t) + zo, relu ? zo : CodeRange<T>::lo);
      }
    }
    INFO(getIsaName(isa));
    CHECK(same);
  }
}
