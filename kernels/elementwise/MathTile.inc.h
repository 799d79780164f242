// Elementary functions over a batch, built from correctly rounded steps only, so all instruction sets give equal bits.
// Included by tiles; `Ops` is one of kernels/simd/*Ops.h.
#ifndef KERNELS_ELEMENTWISE_MATHTILE_INC_H
#define KERNELS_ELEMENTWISE_MATHTILE_INC_H

#include <cstdint>

namespace qfx::kernels {
namespace {

constexpr float kInf = __builtin_inff();
constexpr float kNan = __builtin_nanf("");

/// min(max(x, lo), hi) that lets NaN through; lo > hi gives hi.
template <class Ops> typename Ops::F clampBatch(typename Ops::F x, typename Ops::F lo, typename Ops::F hi) {
  return Ops::min(hi, Ops::max(lo, x));
}

/// x with the sign bit of y.
template <class Ops> typename Ops::F copySign(typename Ops::F x, typename Ops::F y) {
  auto sign = Ops::setInt(INT32_MIN);
  return Ops::ofBits(
      Ops::bitOr(Ops::bitAnd(Ops::bitsOf(x), Ops::setInt(INT32_MAX)), Ops::bitAnd(Ops::bitsOf(y), sign)));
}

/// 2^n for -126 <= n <= 127.
template <class Ops> typename Ops::F powerOfTwo(typename Ops::I n) {
  return Ops::ofBits(Ops::template shiftLeft<23>(Ops::add(n, Ops::setInt(127))));
}

/// x = n*ln2 + r with |r| <= ln2/2, and p = e^r - 1.  x within [-105, 89].
template <class Ops> struct ExpParts {
  typename Ops::I n;
  typename Ops::F p;
  inline __attribute__((always_inline)) explicit ExpParts(typename Ops::F x) {
    using F = typename Ops::F;
    F whole = Ops::rne(x * Ops::set(0x1.715476p+0f)); // 1/ln2
    F r = Ops::fma(whole, Ops::set(-0x1.62e430p-1f), x);
    r = Ops::fma(whole, Ops::set(0x1.05c610p-29f), r); // ln2 in two parts
    n = Ops::toInt(whole);
    // Cephes expf (S. L. Moshier): e^r = 1 + r + r^2 P(r).
    F q = Ops::set(1.9875691500e-4f);
    q = Ops::fma(q, r, Ops::set(1.3981999507e-3f));
    q = Ops::fma(q, r, Ops::set(8.3334519073e-3f));
    q = Ops::fma(q, r, Ops::set(4.1665795894e-2f));
    q = Ops::fma(q, r, Ops::set(1.6666665459e-1f));
    q = Ops::fma(q, r, Ops::set(5.0000001201e-1f));
    p = Ops::fma(q, r * r, r);
  }
};

/// e^x within 1 ulp; overflows to inf above 88.7228, goes through the denormals to 0.
template <class Ops> inline __attribute__((always_inline)) typename Ops::F expBatch(typename Ops::F x) {
  using F = typename Ops::F;
  F bounded = Ops::min(Ops::max(x, Ops::set(-105.0f)), Ops::set(89.0f));
  ExpParts<Ops> parts(bounded);
  auto half = Ops::template shiftRight<1>(parts.n);
  F y = (parts.p + Ops::set(1.0f)) * powerOfTwo<Ops>(half) * powerOfTwo<Ops>(Ops::sub(parts.n, half));
  return Ops::select(Ops::isNan(x), x, y);
}

/// e^x - 1 for x <= 29, relative error 2 ulp near zero too; NaN gives some number.
template <class Ops> typename Ops::F expm1Bounded(typename Ops::F x) {
  using F = typename Ops::F;
  ExpParts<Ops> parts(Ops::min(Ops::max(x, Ops::set(-30.0f)), Ops::set(30.0f)));
  F scale = powerOfTwo<Ops>(parts.n);
  F y = Ops::fma(parts.p, scale, scale - Ops::set(1.0f));
  return Ops::select(Ops::equal(x, Ops::set(0.0f)), x, y);
}

/// e^x - 1 for any x.
template <class Ops> typename Ops::F expm1Batch(typename Ops::F x) {
  auto y = Ops::select(Ops::less(Ops::set(29.0f), x), expBatch<Ops>(x), expm1Bounded<Ops>(x));
  return Ops::select(Ops::isNan(x), x, y);
}

/// ln x within 1 ulp (N. Juffa's minimax split over [2/3, 4/3]); 0 gives -inf, negative NaN.
template <class Ops> typename Ops::F logBatch(typename Ops::F x) {
  using F = typename Ops::F;
  auto tiny = Ops::less(x, Ops::set(1.175494351e-38f));
  F a = Ops::select(tiny, x * Ops::set(8388608.0f), x);
  F i = Ops::select(tiny, Ops::set(-23.0f), Ops::set(0.0f));
  auto e =
      Ops::bitAnd(Ops::sub(Ops::bitsOf(a), Ops::setInt(0x3f2aaaab)), Ops::setInt(static_cast<int32_t>(0xff800000)));
  F m = Ops::ofBits(Ops::sub(Ops::bitsOf(a), e)) - Ops::set(1.0f);
  i = Ops::fma(Ops::toFloat(e), Ops::set(1.19209290e-7f), i);
  F s = m * m;
  F r = Ops::set(-0.130310059f), t = Ops::set(0.140869141f);
  r = Ops::fma(r, s, Ops::set(-0.121484190f));
  t = Ops::fma(t, s, Ops::set(0.139814854f));
  r = Ops::fma(r, s, Ops::set(-0.166846052f));
  t = Ops::fma(t, s, Ops::set(0.200120345f));
  r = Ops::fma(r, s, Ops::set(-0.249996200f));
  r = Ops::fma(t, m, r);
  r = Ops::fma(r, m, Ops::set(0.333331972f));
  r = Ops::fma(r, m, Ops::set(-0.5f));
  r = Ops::fma(r, s, m);
  r = Ops::fma(i, Ops::set(0.693147182f), r);
  auto zero = Ops::set(0.0f);
  r = Ops::select(Ops::less(x, zero), Ops::set(kNan), r);
  r = Ops::select(Ops::equal(x, zero), Ops::set(-kInf), r);
  auto keep = Ops::either(Ops::isNan(x), Ops::equal(x, Ops::set(kInf)));
  return Ops::select(keep, x, r);
}

/// ln(1 + x), with the rounding error of 1 + x put back in.
template <class Ops> typename Ops::F log1pBatch(typename Ops::F x) {
  using F = typename Ops::F;
  F one = Ops::set(1.0f);
  F u = x + one;
  F lost = x - (u - one);
  F y = logBatch<Ops>(u) + Ops::div(lost, u);
  // near zero the logarithm's own argument is 1: the series' first terms are exact enough
  F tinyY = Ops::fma(x * x, Ops::set(-0.5f), x);
  y = Ops::select(Ops::less(Ops::abs(x), Ops::set(1.0e-4f)), tinyY, y);
  auto special = Ops::either(Ops::isNan(x), Ops::equal(x, Ops::set(kInf)));
  y = Ops::select(Ops::equal(x, Ops::set(-1.0f)), Ops::set(-kInf), y);
  return Ops::select(Ops::either(special, Ops::equal(x, Ops::set(0.0f))), x, y);
}

/// tanh x = -t/(t + 2) with t = e^(-2|x|) - 1; relative error 3 ulp.
template <class Ops> typename Ops::F tanhBatch(typename Ops::F x) {
  using F = typename Ops::F;
  F t = expm1Bounded<Ops>(Ops::abs(x) * Ops::set(-2.0f));
  F y = copySign<Ops>(Ops::div(t, t + Ops::set(2.0f)), x);
  return Ops::select(Ops::isNan(x), x, y);
}

/// 1/(1 + e^-x).
template <class Ops> typename Ops::F sigmoidBatch(typename Ops::F x) {
  return Ops::div(Ops::set(1.0f), Ops::set(1.0f) + expBatch<Ops>(Ops::set(0.0f) - x));
}

/// erf x within 1.5 ulp (N. Juffa).
template <class Ops> typename Ops::F erfBatch(typename Ops::F x) {
  using F = typename Ops::F;
  F t = Ops::min(Ops::abs(x), Ops::set(10.0f)), s = t * t;
  F r = Ops::fma(Ops::set(-0x1.220000p-16f), t, Ops::set(0x1.91cfb2p-12f));
  F u = Ops::fma(Ops::set(-0x1.fd1438p-9f), t, Ops::set(0x1.8d6342p-6f));
  r = Ops::fma(r, s, u);
  r = Ops::fma(r, t, Ops::set(-0x1.b55cb8p-4f));
  r = Ops::fma(r, t, Ops::set(-0x1.450aa0p-1f));
  r = Ops::fma(r, t, Ops::set(-0x1.079d0cp-3f));
  r = Ops::fma(r, t, Ops::set(0.0f) - t);
  F big = copySign<Ops>(Ops::set(1.0f) - expBatch<Ops>(r), x);
  F small = Ops::set(-0x1.38e000p-11f);
  small = Ops::fma(small, s, Ops::set(0x1.471a58p-8f));
  small = Ops::fma(small, s, Ops::set(-0x1.b691b2p-6f));
  small = Ops::fma(small, s, Ops::set(0x1.ce1c44p-4f));
  small = Ops::fma(small, s, Ops::set(-0x1.812700p-2f));
  small = Ops::fma(small, s, Ops::set(0x1.06eba8p-3f));
  small = Ops::fma(small, x, x);
  F y = Ops::select(Ops::less(Ops::set(0.927734375f), t), big, small);
  return Ops::select(Ops::isNan(x), x, y);
}

/// ln(1 + e^x) for any x, without overflow.
template <class Ops> typename Ops::F softplusBatch(typename Ops::F x) {
  auto zero = Ops::set(0.0f);
  return Ops::max(zero, x) + log1pBatch<Ops>(expBatch<Ops>(zero - Ops::abs(x)));
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_MATHTILE_INC_H
