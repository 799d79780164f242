// The float unary functions over a batch, and the table of their row functions.
#ifndef KERNELS_ELEMENTWISE_UNARYTILE_INC_H
#define KERNELS_ELEMENTWISE_UNARYTILE_INC_H

#include "kernels/elementwise/MathTile.inc.h"
#include "kernels/elementwise/UnaryDetail.h"
#include "kernels/simd/Rows.inc.h"

namespace qfx::kernels {
namespace {

/// One static function per row of UnaryOps.def: x is the batch, p the constants.
template <class Ops> struct UnaryFunctions {
  using F = typename Ops::F;
  using P = UnaryParams;
  static F k(float v) { return Ops::set(v); }
  static F relu6(F x) { return clampBatch<Ops>(x, k(0), k(6)); }
  static F flipSign(F x) { return Ops::ofBits(Ops::bitXor(Ops::bitsOf(x), Ops::setInt(INT32_MIN))); }

  static F Identity(F x, const P &) { return x; }
  static F Neg(F x, const P &) { return flipSign(x); }
  static F Abs(F x, const P &) { return Ops::abs(x); }
  static F Sign(F x, const P &) {
    F positive = Ops::select(Ops::less(k(0), x), k(1), k(0));
    return Ops::select(Ops::less(x, k(0)), k(-1), positive);
  }
  static F Square(F x, const P &) { return x * x; }
  static F Sqrt(F x, const P &) { return Ops::sqrt(x); }
  static F Rsqrt(F x, const P &) { return Ops::div(k(1), Ops::sqrt(x)); }
  static F Reciprocal(F x, const P &) { return Ops::div(k(1), x); }
  static F Floor(F x, const P &) { return Ops::floor(x); }
  static F Ceil(F x, const P &) { return flipSign(Ops::floor(flipSign(x))); }
  static F Round(F x, const P &) { return Ops::rne(x); }
  static F Trunc(F x, const P &) { return Ops::trunc(x); }
  static F Relu(F x, const P &) { return Ops::max(k(0), x); }
  static F Clamp(F x, const P &p) { return clampBatch<Ops>(x, k(p.a), k(p.b)); }
  static F LeakyRelu(F x, const P &p) { return Ops::select(Ops::less(k(0), x), x, x * k(p.a)); }
  static F Threshold(F x, const P &p) { return Ops::select(Ops::lessEqual(x, k(p.a)), k(p.b), x); }
  static F Hardswish(F x, const P &) { return Ops::div(x * relu6(x + k(3)), k(6)); }
  static F Hardsigmoid(F x, const P &) { return Ops::div(relu6(x + k(3)), k(6)); }
  static F Hardshrink(F x, const P &p) { return Ops::select(Ops::lessEqual(Ops::abs(x), k(p.a)), k(0), x); }
  static F Softshrink(F x, const P &p) {
    F y = Ops::select(Ops::less(x, k(-p.a)), x + k(p.a), k(0));
    y = Ops::select(Ops::less(k(p.a), x), x - k(p.a), y);
    return Ops::select(Ops::isNan(x), x, y);
  }
  static F Exp(F x, const P &) { return expBatch<Ops>(x); }
  static F Expm1(F x, const P &) { return expm1Batch<Ops>(x); }
  static F Log(F x, const P &) { return logBatch<Ops>(x); }
  static F Log1p(F x, const P &) { return log1pBatch<Ops>(x); }
  static F Sigmoid(F x, const P &) { return sigmoidBatch<Ops>(x); }
  static F LogSigmoid(F x, const P &) { return flipSign(softplusBatch<Ops>(flipSign(x))); }
  static F Silu(F x, const P &) { return Ops::div(x, k(1) + expBatch<Ops>(flipSign(x))); }
  static F Tanh(F x, const P &) { return tanhBatch<Ops>(x); }
  static F Erf(F x, const P &) { return erfBatch<Ops>(x); }
  static F Gelu(F x, const P &) { return x * k(0.5f) * (k(1) + erfBatch<Ops>(x * k(0.70710678f))); }
  static F GeluTanh(F x, const P &) {
    F inner = k(0.79788456f) * (x + k(0.044715f) * (x * x * x));
    return k(0.5f) * x * (k(1) + tanhBatch<Ops>(inner));
  }
  static F Elu(F x, const P &p) {
    F negative = expm1Batch<Ops>(x * k(p.c)) * k(p.a * p.b);
    return Ops::select(Ops::less(k(0), x), x * k(p.b), negative);
  }
  static F Softplus(F x, const P &p) {
    F scaled = x * k(p.a);
    return Ops::select(Ops::less(k(p.b), scaled), x, Ops::div(softplusBatch<Ops>(scaled), k(p.a)));
  }
  static F Mish(F x, const P &) { return x * tanhBatch<Ops>(softplusBatch<Ops>(x)); }
  static F Softsign(F x, const P &) { return Ops::div(x, k(1) + Ops::abs(x)); }
  static F Tanhshrink(F x, const P &) { return x - tanhBatch<Ops>(x); }
  static F AddScalar(F x, const P &p) { return x + k(p.a); }
  static F RsubScalar(F x, const P &p) { return k(p.a) - x; }
  static F MulScalar(F x, const P &p) { return x * k(p.a); }
  static F DivScalar(F x, const P &p) { return Ops::div(x, k(p.a)); }
  static F RdivScalar(F x, const P &p) { return Ops::div(k(p.a), x); }
};

template <class Ops, typename Ops::F (*Function)(typename Ops::F, const UnaryParams &)>
void unaryRow(const float *src, float *dst, int64_t n, const UnaryParams &params) {
  mapRow<Ops>(src, dst, n, [&](typename Ops::F x) { return Function(x, params); });
}

template <class Ops> constexpr UnaryTable makeUnaryTable() {
  return {{
#define QFX_UNARY(Kind, Formula) &unaryRow<Ops, &UnaryFunctions<Ops>::Kind>,
#include "kernels/elementwise/UnaryOps.def"
  }};
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_UNARYTILE_INC_H
