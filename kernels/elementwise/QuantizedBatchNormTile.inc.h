// Quantized batch norm over a row of channels, and its table.
#ifndef KERNELS_ELEMENTWISE_QUANTIZEDBATCHNORMTILE_INC_H
#define KERNELS_ELEMENTWISE_QUANTIZEDBATCHNORMTILE_INC_H

#include "kernels/elementwise/QuantizedBatchNormDetail.h"
#include "kernels/quantize/CodeRounder.inc.h"
#include "kernels/simd/Rows.inc.h"

namespace qfx::kernels {
namespace {

template <class Ops, class T>
void quantizedBatchNormRow(const T *src, T *dst, int64_t channels, const float *alpha, const float *beta,
                           const QuantizedBatchNormParams &params) {
  constexpr int N = Ops::N, B = 4 * N;
  int32_t lo = params.relu && params.zeroPointOut > CodeRange<T>::lo ? params.zeroPointOut : CodeRange<T>::lo;
  const CodeRounder<Ops> round(lo, CodeRange<T>::hi, params.zeroPointOut);
  const auto zeroPointIn = Ops::setInt(params.zeroPointIn);
  auto batch = [&](const T *s, const float *a, const float *b) {
    return round(Ops::fma(Ops::load(a), Ops::toFloat(Ops::sub(Ops::loadCodes(s), zeroPointIn)), Ops::load(b)));
  };
  auto block = [&](const T *s, const float *a, const float *b, T *d) {
    Ops::storeCodes4(d, batch(s, a, b), batch(s + N, a + N, b + N), batch(s + 2 * N, a + 2 * N, b + 2 * N),
                     batch(s + 3 * N, a + 3 * N, b + 3 * N));
  };
  int64_t c = 0;
  for (; c + B <= channels; c += B)
    block(src + c, alpha + c, beta + c, dst + c);
  if (c < channels) {
    T codes[B] = {};
    float a[B] = {}, b[B] = {};
    copyFew(codes, src + c, channels - c);
    copyFew(a, alpha + c, channels - c);
    copyFew(b, beta + c, channels - c);
    block(codes, a, b, codes);
    copyFew(dst + c, codes, channels - c);
  }
}

template <class Ops> constexpr QuantizedBatchNormKernels makeQuantizedBatchNormKernels() {
  return {&quantizedBatchNormRow<Ops, uint8_t>, &quantizedBatchNormRow<Ops, int8_t>};
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_QUANTIZEDBATCHNORMTILE_INC_H
