// Quantize and dequantize over rows, and their table.
#ifndef KERNELS_QUANTIZE_QUANTIZETILE_INC_H
#define KERNELS_QUANTIZE_QUANTIZETILE_INC_H

#include "kernels/quantize/CodeRounder.inc.h"
#include "kernels/quantize/QuantizeDetail.h"
#include "kernels/simd/Rows.inc.h"

namespace qfx::kernels {
namespace {

template <class Ops, class T> void quantizeRow(const float *src, T *dst, int64_t n, const QParams &params) {
  auto inv = Ops::set(1.0f / static_cast<float>(params.scale));
  CodeRounder<Ops> round(CodeRange<T>::lo, CodeRange<T>::hi, params.zeroPoint);
  floatToCodeRow<Ops, T>(src, dst, n, [&](typename Ops::F x) { return round(x * inv); });
}

template <class Ops, class T> void dequantizeRow(const T *src, float *dst, int64_t n, const QParams &params) {
  auto scale = Ops::set(static_cast<float>(params.scale));
  auto zeroPoint = Ops::setInt(params.zeroPoint);
  codeToFloatRow<Ops, T>(src, dst, n, [&](typename Ops::I q) { return scale * Ops::toFloat(Ops::sub(q, zeroPoint)); });
}

template <class Ops, class T>
void quantizeChannelsRow(const float *src, T *dst, int64_t n, const float *scale, const int32_t *zeroPoint) {
  constexpr int N = Ops::N, B = 4 * Ops::N;
  using I = typename Ops::I;
  auto batch = [](const float *x, const float *s, const int32_t *z) {
    auto t = Ops::load(x) * Ops::div(Ops::set(1.0f), Ops::load(s));
    I zp = Ops::loadInt(z);
    auto low = Ops::toFloat(Ops::sub(Ops::setInt(CodeRange<T>::lo), zp));
    auto high = Ops::toFloat(Ops::sub(Ops::setInt(CodeRange<T>::hi), zp));
    return Ops::add(Ops::toInt(Ops::min(Ops::max(t, low), high)), zp);
  };
  auto block = [&](const float *x, const float *s, const int32_t *z, T *d) {
    Ops::storeCodes4(d, batch(x, s, z), batch(x + N, s + N, z + N), batch(x + 2 * N, s + 2 * N, z + 2 * N),
                     batch(x + 3 * N, s + 3 * N, z + 3 * N));
  };
  int64_t i = 0;
  for (; i + B <= n; i += B)
    block(src + i, scale + i, zeroPoint + i, dst + i);
  if (i < n) {
    float x[B] = {}, s[B] = {};
    int32_t z[B] = {};
    T out[B];
    copyFew(x, src + i, n - i);
    copyFew(s, scale + i, n - i);
    copyFew(z, zeroPoint + i, n - i);
    block(x, s, z, out);
    copyFew(dst + i, out, n - i);
  }
}

template <class Ops> constexpr QuantizeKernels makeQuantizeKernels() {
  return {&quantizeRow<Ops, uint8_t>,  &quantizeRow<Ops, int8_t>,          &dequantizeRow<Ops, uint8_t>,
          &dequantizeRow<Ops, int8_t>, &quantizeChannelsRow<Ops, uint8_t>, &quantizeChannelsRow<Ops, int8_t>};
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_QUANTIZE_QUANTIZETILE_INC_H
