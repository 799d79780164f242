// Python's arithmetic and comparison of numbers, as `operator.add` and its kin compute them.
#ifndef IR_PYTHONNUMBERS_H
#define IR_PYTHONNUMBERS_H

#include "ir/OpKind.h"

#include <cstdint>

namespace qfx {

/// Floats: add, sub, mul, truediv, floordiv (by the remainder: 1.0 // 0.1 is 9.0), mod (of the divisor's sign), fmod, pow.  The divisor is not 0.
double computeNumbers(OpKind kind, double a, double b);
/// Ints, which wrap around at 64 bits where Python's grow: add, sub, mul, floordiv, mod, pow (exponent >= 0).  The divisor is not 0.
int64_t computeNumbers(OpKind kind, int64_t a, int64_t b);

/// eq, ne, lt, le, gt, ge, and the logical operators on what is not 0.
template <class T> bool compareNumbers(OpKind kind, T a, T b) {
  switch (kind) {
  case OpKind::Eq:
    return a == b;
  case OpKind::Ne:
    return a != b;
  case OpKind::Lt:
    return a < b;
  case OpKind::Le:
    return a <= b;
  case OpKind::Gt:
    return a > b;
  case OpKind::LogicalAnd:
    return a != 0 && b != 0;
  case OpKind::LogicalOr:
    return a != 0 || b != 0;
  case OpKind::LogicalXor:
    return (a != 0) != (b != 0);
  default:
    return a >= b;
  }
}

} // namespace qfx

#endif // IR_PYTHONNUMBERS_H
