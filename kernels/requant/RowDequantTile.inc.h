// The float results of one row of sums, and the table of its function.
#ifndef KERNELS_REQUANT_ROWDEQUANTTILE_INC_H
#define KERNELS_REQUANT_ROWDEQUANTTILE_INC_H

#include "kernels/requant/RowDequantDetail.h"
#include "kernels/simd/Rows.inc.h"

namespace qfx::kernels {
namespace {

template <class Ops> void finishRow(float *values, int64_t n, const RowDequant &row) {
  using F = typename Ops::F;
  constexpr int N = Ops::N;
  const F scale = Ops::set(row.scale), floor = Ops::set(row.floor);
  const auto zeroPoint = Ops::setInt(row.zeroPoint);
  const bool fuses = row.fusesBias;
  auto batch = [&](const float *v, const int32_t *sum, const float *w, const float *b) {
    auto acc = Ops::sub(Ops::bitsOf(Ops::load(v)), Ops::mul(zeroPoint, Ops::loadInt(sum)));
    const F total = Ops::toFloat(acc), multiplier = scale * Ops::load(w), bias = Ops::load(b);
    return Ops::max(floor, fuses ? Ops::fma(total, multiplier, bias) : total * multiplier + bias);
  };
  int64_t i = 0;
  for (; i + N <= n; i += N)
    Ops::store(values + i, batch(values + i, row.weightSum + i, row.weightScale + i, row.bias + i));
  if (N > 1 && i < n) {
    float v[N] = {}, w[N] = {}, b[N] = {};
    int32_t sum[N] = {};
    __builtin_memcpy(v, values + i, static_cast<size_t>(n - i) * sizeof(float)); // bits, which need not be a number
    copyFew(sum, row.weightSum + i, n - i);
    copyFew(w, row.weightScale + i, n - i);
    copyFew(b, row.bias + i, n - i);
    Ops::store(v, batch(v, sum, w, b));
    copyFew(values + i, v, n - i);
  }
}

template <class Ops> constexpr RowDequantKernels makeRowDequantKernels() { return {&finishRow<Ops>}; }

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_REQUANT_ROWDEQUANTTILE_INC_H
