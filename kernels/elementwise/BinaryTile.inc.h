// The float binary functions over a batch, and the table of their row functions.
#ifndef KERNELS_ELEMENTWISE_BINARYTILE_INC_H
#define KERNELS_ELEMENTWISE_BINARYTILE_INC_H

#include "kernels/elementwise/BinaryDetail.h"
#include "kernels/simd/Rows.inc.h"

namespace qfx::kernels {
namespace {

/// One static function per row of BinaryOps.def; b comes already multiplied by alpha.
template <class Ops> struct BinaryFunctions {
  using F = typename Ops::F;
  static F Add(F a, F b) { return a + b; }
  static F Sub(F a, F b) { return a - b; }
  static F Mul(F a, F b) { return a * b; }
  static F Div(F a, F b) { return Ops::div(a, b); }
  static F Minimum(F a, F b) { return Ops::select(Ops::isNan(a), a, Ops::min(a, b)); }
  static F Maximum(F a, F b) { return Ops::select(Ops::isNan(a), a, Ops::max(a, b)); }
};

template <class Ops, typename Ops::F (*Function)(typename Ops::F, typename Ops::F)>
void binaryRow(const float *a, int aStep, const float *b, int bStep, float *dst, int64_t n,
               const BinaryParams &params) {
  using F = typename Ops::F;
  F alpha = Ops::set(params.alpha), lo = Ops::set(params.lo), hi = Ops::set(params.hi);
  zipRow<Ops>(a, aStep, b, bStep, dst, n, [&](F x, F y) { return Ops::min(hi, Ops::max(lo, Function(x, alpha * y))); });
}

template <class Ops> constexpr BinaryTable makeBinaryTable() {
  return {{
#define QFX_BINARY(Kind, Formula) &binaryRow<Ops, &BinaryFunctions<Ops>::Kind>,
#include "kernels/elementwise/BinaryOps.def"
  }};
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_BINARYTILE_INC_H
