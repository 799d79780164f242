// Float unary functions: accuracy against double, special values, equal bits on all instruction sets and positions.
#include "kernels/elementwise/Unary.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

#include <algorithm>
#include <cmath>

using namespace qfx::kernels;
using namespace qfx::test;

static constexpr const char *kNames[] = {
#define QFX_UNARY(Kind, Formula) #Kind,
#include "kernels/elementwise/UnaryOps.def"
};

static UnaryParams paramsOf(UnaryKind kind) {
  switch (kind) {
  case UnaryKind::Clamp:
    return {-1.5f, 2.25f, 1};
  case UnaryKind::Elu:
    return {0.7f, 1.3f, 0.9f};
  case UnaryKind::Softplus:
    return {1.0f, 20.0f, 1};
  case UnaryKind::Threshold:
    return {0.25f, -7.0f, 1};
  default:
    return {0.3f, 0.6f, 1};
  }
}

/// The mathematical function in double.
static double exact(UnaryKind kind, double x, const UnaryParams &p) {
  auto clamp = [](double v, double lo, double hi) { return std::min(std::max(v, lo), hi); };
  switch (kind) {
  case UnaryKind::Identity:
    return x;
  case UnaryKind::Neg:
    return -x;
  case UnaryKind::Abs:
    return std::fabs(x);
  case UnaryKind::Sign:
    return x > 0 ? 1 : x < 0 ? -1 : 0;
  case UnaryKind::Square:
    return x * x;
  case UnaryKind::Sqrt:
    return std::sqrt(x);
  case UnaryKind::Rsqrt:
    return 1 / std::sqrt(x);
  case UnaryKind::Reciprocal:
    return 1 / x;
  case UnaryKind::Floor:
    return std::floor(x);
  case UnaryKind::Ceil:
    return std::ceil(x);
  case UnaryKind::Round:
    return std::nearbyint(x);
  case UnaryKind::Trunc:
    return std::trunc(x);
  case UnaryKind::Relu:
    return std::max(x, 0.0);
  case UnaryKind::Clamp:
    return clamp(x, p.a, p.b);
  case UnaryKind::LeakyRelu:
    return x > 0 ? x : x * p.a;
  case UnaryKind::Threshold:
    return x > p.a ? x : p.b;
  case UnaryKind::Hardswish:
    return x * clamp(x + 3, 0, 6) / 6;
  case UnaryKind::Hardsigmoid:
    return clamp(x + 3, 0, 6) / 6;
  case UnaryKind::Hardshrink:
    return std::fabs(x) <= p.a ? 0 : x;
  case UnaryKind::Softshrink:
    return x > p.a ? x - p.a : x < -p.a ? x + p.a : 0;
  case UnaryKind::Exp:
    return std::exp(x);
  case UnaryKind::Expm1:
    return std::expm1(x);
  case UnaryKind::Log:
    return std::log(x);
  case UnaryKind::Log1p:
    return std::log1p(x);
  case UnaryKind::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case UnaryKind::LogSigmoid:
    return std::min(x, 0.0) - std::log1p(std::exp(-std::fabs(x)));
  case UnaryKind::Silu:
    return x / (1 + std::exp(-x));
  case UnaryKind::Tanh:
    return std::tanh(x);
  case UnaryKind::Erf:
    return std::erf(x);
  case UnaryKind::Gelu:
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  case UnaryKind::GeluTanh:
    return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  case UnaryKind::Elu:
    return x > 0 ? x * p.b : std::expm1(x * p.c) * p.a * p.b;
  case UnaryKind::Softplus:
    return x * p.a > p.b ? x : std::log1p(std::exp(x * p.a)) / p.a;
  case UnaryKind::Mish:
    return x * std::tanh(x > 30 ? x : std::log1p(std::exp(x)));
  case UnaryKind::Softsign:
    return x / (1 + std::fabs(x));
  case UnaryKind::Tanhshrink:
    return x - std::tanh(x);
  case UnaryKind::AddScalar:
    return x + p.a;
  case UnaryKind::RsubScalar:
    return p.a - x;
  case UnaryKind::MulScalar:
    return x * p.a;
  case UnaryKind::DivScalar:
    return x / p.a;
  case UnaryKind::RdivScalar:
    return p.a / x;
  }
  return 0;
}

/// Functions promised only relative to max(1, |x|), as Unary.h says.
static bool isAbsolute(UnaryKind kind) {
  return kind == UnaryKind::Gelu || kind == UnaryKind::GeluTanh || kind == UnaryKind::Mish ||
         kind == UnaryKind::Tanhshrink || kind == UnaryKind::LogSigmoid || kind == UnaryKind::Softplus ||
         kind == UnaryKind::Hardswish || kind == UnaryKind::Hardsigmoid || kind == UnaryKind::Softshrink ||
         kind == UnaryKind::AddScalar || kind == UnaryKind::RsubScalar || kind == UnaryKind::Elu;
}

TEST_CASE("unary functions are as accurate as Unary.h says", "[float][unary]") {
  for (int k = 0; k < kNumUnaryKinds; ++k) {
    auto kind = static_cast<UnaryKind>(k);
    const UnaryParams params = paramsOf(kind);
    Random random(k + 1);
    std::vector<float> x = random.floats(20000, -20, 20);
    for (int i = 0; i < 4000; ++i)
      x.push_back(random.uniform(-1, 1) * std::exp2(static_cast<float>(-random.below(30))));
    for (int i = 0; i < 4000; ++i)
      x.push_back(random.uniform(-87, 87));
    bool positiveOnly = kind == UnaryKind::Sqrt || kind == UnaryKind::Rsqrt || kind == UnaryKind::Log;
    for (float &v : x)
      v = positiveOnly ? std::fabs(v) : kind == UnaryKind::Log1p ? std::max(v, -0.999f) : v;
    std::vector<float> y(x.size());
    selectUnary(kind, Isa::Scalar)(x.data(), y.data(), static_cast<int64_t>(x.size()), params);
    double worst = 0, at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double want = exact(kind, x[i], params), error = std::fabs(y[i] - want);
      double unit = isAbsolute(kind) ? 1e-6 * std::max(1.0, std::fabs(static_cast<double>(x[i])))
                                     : 3 * std::ldexp(1.0, std::max(-149, std::ilogb(want == 0 ? 1e-45 : want) - 23));
      if (error / unit > worst) {
        worst = error / unit;
        at = x[i];
      }
    }
    INFO(kNames[k] << " worst at " << at);
    CHECK(worst <= 1.0);
  }
}

TEST_CASE("unary functions keep their limits", "[float][unary]") {
  auto eval = [](UnaryKind kind, float x) {
    float y;
    selectUnary(kind)(&x, &y, 1, {});
    return y;
  };
  const float inf = __builtin_inff();
  CHECK(eval(UnaryKind::Exp, inf) == inf);
  CHECK(eval(UnaryKind::Exp, -inf) == 0);
  CHECK(eval(UnaryKind::Exp, 88.73f) == inf);
  CHECK(eval(UnaryKind::Exp, 0) == 1);
  CHECK(eval(UnaryKind::Exp, -100) == 27 * 0x1p-149f); // e^-100 = 26.55 units of the last denormal place
  CHECK(eval(UnaryKind::Log, 0) == -inf);
  CHECK(eval(UnaryKind::Log, inf) == inf);
  CHECK(std::isnan(eval(UnaryKind::Log, -1)));
  CHECK(eval(UnaryKind::Log1p, -1) == -inf);
  CHECK(eval(UnaryKind::Tanh, inf) == 1);
  CHECK(eval(UnaryKind::Tanh, -inf) == -1);
  CHECK(eval(UnaryKind::Sigmoid, -inf) == 0);
  CHECK(eval(UnaryKind::Sigmoid, inf) == 1);
  CHECK(eval(UnaryKind::Erf, inf) == 1);
  CHECK(eval(UnaryKind::Erf, -inf) == -1);
  CHECK(eval(UnaryKind::Expm1, -inf) == -1);
  CHECK(eval(UnaryKind::Expm1, inf) == inf);
  CHECK(eval(UnaryKind::Relu, -inf) == 0);
  for (int k = 0; k < kNumUnaryKinds; ++k)
    if (auto kind = static_cast<UnaryKind>(k); kind != UnaryKind::Sign) {
      INFO(kNames[k]);
      CHECK(std::isnan(eval(kind, __builtin_nanf(""))));
    }
}

TEST_CASE("unary rows give scalar's bits at every length and offset", "[float][unary]") {
  for (Isa isa : vectorIsas())
    for (int k = 0; k < kNumUnaryKinds; ++k) {
      auto kind = static_cast<UnaryKind>(k);
      const UnaryParams params = paramsOf(kind);
      std::vector<float> x = nastyFloats(4096, k + 7), want(x.size()), got(x.size());
      selectUnary(kind, Isa::Scalar)(x.data(), want.data(), 4096, params);
      selectUnary(kind, isa)(x.data(), got.data(), 4096, params);
      INFO(kNames[k] << " on " << getIsaName(isa));
      CHECK(sameBits(want, got));
      bool same = true;
      for (int n = 1; n <= 130; ++n) {
        got.assign(x.size(), 0.0f);
        selectUnary(kind, isa)(x.data() + n % 9, got.data() + n % 5, n, params);
        same = same && sameBits(want.data() + n % 9, got.data() + n % 5, n) && got[n % 5 + n] == 0.0f;
      }
      CHECK(same);
    }
}
