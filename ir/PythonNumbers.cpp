// Python's arithmetic: division rounds down, remainders have the divisor's sign.
#include "ir/PythonNumbers.h"

#include <cmath>

namespace qfx {

/// The remainder of the divisor's sign.
static double getRemainder(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// CPython's float_floor_div: the exact quotient is (a - remainder) / b but for rounding.
static double floorDivide(double a, double b) {
  const double quotient = (a - getRemainder(a, b)) / b, whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

double computeNumbers(OpKind kind, double a, double b) {
  switch (kind) {
  case OpKind::Add:
    return a + b;
  case OpKind::Sub:
    return a - b;
  case OpKind::Mul:
    return a * b;
  case OpKind::Div:
    return a / b;
  case OpKind::FloorDiv:
    return floorDivide(a, b);
  case OpKind::Remainder:
    return getRemainder(a, b);
  case OpKind::Fmod:
    return std::fmod(a, b);
  default:
    return std::pow(a, b);
  }
}

static int64_t power(uint64_t base, int64_t exponent) {
  uint64_t result = 1;
  for (; exponent > 0; exponent /= 2, base *= base)
    if (exponent % 2)
      result *= base;
  return static_cast<int64_t>(result);
}

int64_t computeNumbers(OpKind kind, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  const int64_t rest = kind == OpKind::FloorDiv || kind == OpKind::Remainder ? (b == -1 ? 0 : a % b) : 0;
  const bool roundsDown = rest != 0 && (rest < 0) != (b < 0);
  switch (kind) {
  case OpKind::Add:
    return static_cast<int64_t>(x + y);
  case OpKind::Sub:
    return static_cast<int64_t>(x - y);
  case OpKind::Mul:
    return static_cast<int64_t>(x * y);
  case OpKind::FloorDiv:
    return b == -1 ? static_cast<int64_t>(-x) : a / b - roundsDown;
  case OpKind::Remainder:
    return roundsDown ? rest + b : rest;
  default:
    return power(x, b);
  }
}

} // namespace qfx
