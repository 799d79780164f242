// Quantized add and mul over rows, and their table.
#ifndef KERNELS_ELEMENTWISE_QUANTIZEDBINARYTILE_INC_H
#define KERNELS_ELEMENTWISE_QUANTIZEDBINARYTILE_INC_H

#include "kernels/elementwise/QuantizedBinaryDetail.h"
#include "kernels/quantize/CodeRounder.inc.h"
#include "kernels/simd/Rows.inc.h"

namespace qfx::kernels {
namespace {

template <class Ops, class T>
void quantizedAddRow(const T *a, int aStep, const T *b, int bStep, T *dst, int64_t n,
                     const QuantizedAddParams &params) {
  using I = typename Ops::I;
  auto scaleA = Ops::set(params.scaleA), biasA = Ops::set(params.biasA);
  auto scaleB = Ops::set(params.scaleB), biasB = Ops::set(params.biasB), inv = Ops::set(params.inv);
  // relu before quantizing is a lower bound of zero before rounding: both the reciprocal and the rounding are monotone
  int32_t lo = params.relu && params.zeroPoint > CodeRange<T>::lo ? params.zeroPoint : CodeRange<T>::lo;
  CodeRounder<Ops> round(lo, CodeRange<T>::hi, params.zeroPoint);
  zipCodeRow<Ops, T>(a, aStep, b, bStep, dst, n, [&](I x, I y) {
    return round((Ops::fma(scaleA, Ops::toFloat(x), biasA) + Ops::fma(scaleB, Ops::toFloat(y), biasB)) * inv);
  });
}

template <class Ops, class T>
void quantizedMulRow(const T *a, int aStep, const T *b, int bStep, T *dst, int64_t n,
                     const QuantizedMulParams &params) {
  using I = typename Ops::I;
  auto zeroPointA = Ops::setInt(params.zeroPointA), zeroPointB = Ops::setInt(params.zeroPointB);
  auto multiplier = Ops::set(params.multiplier);
  int32_t lo = params.relu && params.zeroPoint > CodeRange<T>::lo ? params.zeroPoint : CodeRange<T>::lo;
  CodeRounder<Ops> round(lo, CodeRange<T>::hi, params.zeroPoint);
  zipCodeRow<Ops, T>(a, aStep, b, bStep, dst, n, [&](I x, I y) {
    return round(Ops::toFloat(Ops::mul(Ops::sub(x, zeroPointA), Ops::sub(y, zeroPointB))) * multiplier);
  });
}

template <class Ops> constexpr QuantizedBinaryKernels makeQuantizedBinaryKernels() {
  return {&quantizedAddRow<Ops, uint8_t>, &quantizedAddRow<Ops, int8_t>, &quantizedMulRow<Ops, uint8_t>,
          &quantizedMulRow<Ops, int8_t>};
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_QUANTIZEDBINARYTILE_INC_H
