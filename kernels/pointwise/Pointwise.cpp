// The plain elementwise functions, and the walk over strided operands.
#include "kernels/pointwise/Pointwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace qfx::kernels {

namespace {

using P = PointwiseParams;

/// Wrapping integer arithmetic, plain float arithmetic.
template <class T> T add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <class T> T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}
template <class T> T negate(T a) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(uint64_t(0) - static_cast<uint64_t>(a));
  else
    return -a;
}
/// The quotient of integers, towards zero; by 0 and the one overflow are defined.
inline int64_t divide(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? negate(a) : a / b; }

inline int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  int64_t result = 1;
  for (; exponent; exponent >>= 1, base = multiply(base, base))
    if (exponent & 1)
      result = multiply(result, base);
  return result;
}

/// floor(a/b) of the exact quotient, as c10::div_floor_floating: a/b itself may round up to the next integer.
inline float floorDivide(float a, float b) {
  if (b == 0)
    return a / b;
  float rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0))
    quotient -= 1;
  if (quotient == 0)
    return std::copysign(0.0f, a / b);
  float whole = std::floor(quotient);
  return quotient - whole > 0.5f ? whole + 1 : whole;
}

/// C library functions of double, rounded once.
template <double (*Function)(double)> float rounded(float a) { return static_cast<float>(Function(a)); }

struct Functions {
  template <class T> static T Add(T a, T b, const P &p) { return add(a, multiply(static_cast<T>(p.alpha), b)); }
  template <class T> static T Sub(T a, T b, const P &p) { return add(a, negate(multiply(static_cast<T>(p.alpha), b))); }
  template <class T> static T Mul(T a, T b, const P &) { return multiply(a, b); }
  template <class T> static T FloorDiv(T a, T b, const P &) {
    if constexpr (std::is_integral_v<T>)
      return divide(a, b) - (b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0));
    else
      return floorDivide(a, b);
  }
  template <class T> static T TruncDiv(T a, T b, const P &) {
    if constexpr (std::is_integral_v<T>)
      return divide(a, b);
    else
      return std::trunc(a / b);
  }
  template <class T> static T Fmod(T a, T b, const P &) {
    if constexpr (std::is_integral_v<T>)
      return b == 0 || b == -1 ? 0 : a % b;
    else
      return std::fmod(a, b);
  }
  template <class T> static T Remainder(T a, T b, const P &p) {
    T rest = Fmod(a, b, p);
    return rest != 0 && (rest < 0) != (b < 0) ? add(rest, b) : rest;
  }
  template <class T> static T Pow(T a, T b, const P &) {
    if constexpr (std::is_integral_v<T>)
      return power(a, b);
    else
      return static_cast<float>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
  template <class T> static T Maximum(T a, T b, const P &) { return a != a || b != b ? a + b : a > b ? a : b; }
  template <class T> static T Minimum(T a, T b, const P &) { return a != a || b != b ? a + b : a < b ? a : b; }
  static float Atan2(float a, float b, const P &) {
    return static_cast<float>(std::atan2(static_cast<double>(a), static_cast<double>(b)));
  }
  static float Hypot(float a, float b, const P &) {
    return static_cast<float>(std::hypot(static_cast<double>(a), static_cast<double>(b)));
  }
  static float Prelu(float a, float b, const P &) { return a > 0 ? a : a * b; }
  static float Div(float a, float b, const P &) { return a / b; }
  template <class T> static bool Equal(T a, T b, const P &) { return a == b; }
  template <class T> static bool NotEqual(T a, T b, const P &) { return a != b; }
  template <class T> static bool Less(T a, T b, const P &) { return a < b; }
  template <class T> static bool LessEqual(T a, T b, const P &) { return a <= b; }
  template <class T> static bool Greater(T a, T b, const P &) { return a > b; }
  template <class T> static bool GreaterEqual(T a, T b, const P &) { return a >= b; }
  template <class T> static bool LogicalAnd(T a, T b, const P &) { return a != 0 && b != 0; }
  template <class T> static bool LogicalOr(T a, T b, const P &) { return a != 0 || b != 0; }
  template <class T> static bool LogicalXor(T a, T b, const P &) { return (a != 0) != (b != 0); }
  static int64_t BitAnd(int64_t a, int64_t b, const P &) { return a & b; }
  static int64_t BitOr(int64_t a, int64_t b, const P &) { return a | b; }
  static int64_t BitXor(int64_t a, int64_t b, const P &) { return a ^ b; }
  static int64_t BitNot(int64_t a, const P &) { return ~a; }
  template <class T> static T Negate(T a, const P &) { return negate(a); }
  template <class T> static T Absolute(T a, const P &) {
    if constexpr (std::is_integral_v<T>)
      return a < 0 ? negate(a) : a;
    else
      return std::fabs(a);
  }
  template <class T> static T Signum(T a, const P &) { return a > 0 ? T(1) : a < 0 ? T(-1) : a; }
  template <class T> static T Square(T a, const P &) { return multiply(a, a); }
  template <class T> static bool LogicalNot(T a, const P &) { return a == 0; }
  template <class T> static bool IsNan(T a, const P &) { return a != a; }
  template <class T> static bool IsInf(T a, const P &) {
    if constexpr (std::is_integral_v<T>)
      return false;
    else
      return std::isinf(a);
  }
  template <class T> static bool IsFinite(T a, const P &) {
    if constexpr (std::is_integral_v<T>)
      return true;
    else
      return std::isfinite(a);
  }
  static float NanToNum(float a, const P &p) {
    if (a != a)
      return static_cast<float>(p.p[0]);
    return !std::isinf(a) ? a : static_cast<float>(a > 0 ? p.p[1] : p.p[2]);
  }
  static float Exp2(float a, const P &) { return rounded<std::exp2>(a); }
  static float Log2(float a, const P &) { return rounded<std::log2>(a); }
  static float Log10(float a, const P &) { return rounded<std::log10>(a); }
  static float Sin(float a, const P &) { return rounded<std::sin>(a); }
  static float Cos(float a, const P &) { return rounded<std::cos>(a); }
  static float Tan(float a, const P &) { return rounded<std::tan>(a); }
  static float Asin(float a, const P &) { return rounded<std::asin>(a); }
  static float Acos(float a, const P &) { return rounded<std::acos>(a); }
  static float Atan(float a, const P &) { return rounded<std::atan>(a); }
  static float Sinh(float a, const P &) { return rounded<std::sinh>(a); }
  static float Cosh(float a, const P &) { return rounded<std::cosh>(a); }
  static float Erfc(float a, const P &) { return rounded<std::erfc>(a); }
  template <class T> static T Select(uint8_t a, T b, T c, const P &) { return a ? b : c; }
  template <class T> static T MultiplyAdd(T a, T b, T c, const P &p) {
    return add(a, multiply(static_cast<T>(p.alpha), multiply(b, c)));
  }
  static float DivideAdd(float a, float b, float c, const P &p) { return a + static_cast<float>(p.alpha) * (b / c); }
  static float Lerp(float a, float b, float c, const P &) {
    return std::fabs(c) < 0.5f ? a + c * (b - a) : b - (b - a) * (1 - c);
  }
};

template <class T> T load(const std::byte *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <class T> void store(std::byte *at, T value) { std::memcpy(at, &value, sizeof(T)); }

/// The row function around one element function: its signature gives operands and result.
template <class Out, class... In> struct Row;
template <class Out, class A> struct Row<Out, A> {
  template <Out (*Function)(A, const P &)>
  static void run(const std::byte *const *src, const int64_t *steps, std::byte *dst, int64_t n, const P &p) {
    for (int64_t i = 0; i < n; ++i)
      store(dst + i * static_cast<int64_t>(sizeof(Out)), Function(load<A>(src[0] + i * steps[0]), p));
  }
};
template <class Out, class A, class B> struct Row<Out, A, B> {
  template <Out (*Function)(A, B, const P &)>
  static void run(const std::byte *const *src, const int64_t *steps, std::byte *dst, int64_t n, const P &p) {
    for (int64_t i = 0; i < n; ++i)
      store(dst + i * static_cast<int64_t>(sizeof(Out)),
            Function(load<A>(src[0] + i * steps[0]), load<B>(src[1] + i * steps[1]), p));
  }
};
template <class Out, class A, class B, class C> struct Row<Out, A, B, C> {
  template <Out (*Function)(A, B, C, const P &)>
  static void run(const std::byte *const *src, const int64_t *steps, std::byte *dst, int64_t n, const P &p) {
    for (int64_t i = 0; i < n; ++i)
      store(dst + i * static_cast<int64_t>(sizeof(Out)),
            Function(load<A>(src[0] + i * steps[0]), load<B>(src[1] + i * steps[1]), load<C>(src[2] + i * steps[2]), p));
  }
};

template <auto Function> struct Wrap;
template <class Out, class A, Out (*Function)(A, const P &)> struct Wrap<Function> {
  static constexpr PointwiseFn row = &Row<Out, A>::template run<Function>;
};
template <class Out, class A, class B, Out (*Function)(A, B, const P &)> struct Wrap<Function> {
  static constexpr PointwiseFn row = &Row<Out, A, B>::template run<Function>;
};
template <class Out, class A, class B, class C, Out (*Function)(A, B, C, const P &)> struct Wrap<Function> {
  static constexpr PointwiseFn row = &Row<Out, A, B, C>::template run<Function>;
};

constexpr bool kSame = false, kBool = true;

const PointwiseInfo kInfos[] = {
#define QFX_POINTWISE(Kind, Operands, Result, Formula)                                                                 \
  {Operands, k##Result, Wrap<&Functions::Kind<float>>::row, Wrap<&Functions::Kind<int64_t>>::row},
#define QFX_POINTWISE_FLOAT(Kind, Operands, Result, Formula)                                                           \
  {Operands, k##Result, Wrap<&Functions::Kind>::row, nullptr},
#define QFX_POINTWISE_INT(Kind, Operands, Result, Formula) {Operands, k##Result, nullptr, Wrap<&Functions::Kind>::row},
#include "kernels/pointwise/PointwiseKinds.def"
};

} // namespace

const PointwiseInfo &getPointwise(PointwiseKind kind) { return kInfos[static_cast<size_t>(kind)]; }

void runPointwise(const PointwisePlan &plan, int operands, const std::byte *const *src, std::byte *dst, int64_t begin,
                  int64_t end, PointwiseFn row, const PointwiseParams &params) {
  const int last = plan.rank - 1;
  const int64_t length = plan.rank ? plan.sizes[last] : 1;
  int64_t steps[kMaxPointwiseOperands] = {};
  for (int k = 0; plan.rank && k < operands; ++k)
    steps[k] = plan.steps[k][last];
  for (int64_t at = begin; at < end;) {
    int64_t column = at % length, rest = at / length;
    const std::byte *from[kMaxPointwiseOperands];
    for (int k = 0; k < operands; ++k)
      from[k] = src[k] + column * steps[k];
    for (int d = last - 1; d >= 0; rest /= plan.sizes[d], --d)
      for (int k = 0; k < operands; ++k)
        from[k] += rest % plan.sizes[d] * plan.steps[k][d];
    int64_t count = std::min(length - column, end - at);
    row(from, steps, dst + at * plan.dstBytes, count, params);
    at += count;
  }
}

} // namespace qfx::kernels
