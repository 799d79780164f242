// Normalization of codes over rows, and its table.
#ifndef KERNELS_NORM_CODENORMTILE_INC_H
#define KERNELS_NORM_CODENORMTILE_INC_H

#include "kernels/norm/CodeNormDetail.h"
#include "kernels/quantize/CodeRounder.inc.h"
#include "kernels/simd/Rows.inc.h"

namespace qfx::kernels {
namespace {

/// dst[i] = fn(src[i], a[i], b[i], c[i]) over blocks of four batches.
template <class Ops, class T, class Fn>
inline void mapCodeRowWith3(const T *src, T *dst, int64_t n, const float *a, const float *b, const float *c, Fn fn) {
  constexpr int N = Ops::N, B = 4 * N;
  auto batch = [&](const T *s, const float *x, const float *y, const float *z) {
    return fn(Ops::loadCodes(s), Ops::load(x), Ops::load(y), Ops::load(z));
  };
  auto block = [&](const T *s, const float *x, const float *y, const float *z, T *d) {
    Ops::storeCodes4(d, batch(s, x, y, z), batch(s + N, x + N, y + N, z + N),
                     batch(s + 2 * N, x + 2 * N, y + 2 * N, z + 2 * N),
                     batch(s + 3 * N, x + 3 * N, y + 3 * N, z + 3 * N));
  };
  int64_t i = 0;
  for (; i + B <= n; i += B)
    block(src + i, a + i, b + i, c + i, dst + i);
  if (i < n) {
    T codes[B] = {};
    float x[B] = {}, y[B] = {}, z[B] = {};
    copyFew(codes, src + i, n - i);
    copyFew(x, a + i, n - i);
    copyFew(y, b + i, n - i);
    copyFew(z, c + i, n - i);
    block(codes, x, y, z, codes);
    copyFew(dst + i, codes, n - i);
  }
}

template <class Ops, class T>
void layerNormCodes(const T *src, T *dst, int64_t n, const NormStatistics &statistics, const float *weight,
                    const float *bias, const CodeNormParams &params) {
  using F = typename Ops::F;
  using I = typename Ops::I;
  const auto zeroPoint = Ops::setInt(params.zeroPoint);
  const F mean = Ops::set(statistics.mean), rstd = Ops::set(statistics.rstd),
          inv = Ops::set(1.0f / static_cast<float>(params.out.scale));
  const CodeRounder<Ops> round(CodeRange<T>::lo, CodeRange<T>::hi, params.out.zeroPoint);
  mapCodeRowWith3<Ops, T>(src, dst, n, weight, bias, bias, [&](I q, F w, F b, F) {
    return round(((Ops::toFloat(Ops::sub(q, zeroPoint)) - mean) * rstd * w + b) * inv);
  });
}

template <class Ops, class T>
void channelNormCodes(const T *src, T *dst, int64_t n, const float *mean, const float *gain, const float *bias,
                      const CodeNormParams &params) {
  using F = typename Ops::F;
  using I = typename Ops::I;
  const auto zeroPoint = Ops::setInt(params.zeroPoint);
  const F inv = Ops::set(1.0f / static_cast<float>(params.out.scale));
  const CodeRounder<Ops> round(CodeRange<T>::lo, CodeRange<T>::hi, params.out.zeroPoint);
  mapCodeRowWith3<Ops, T>(src, dst, n, mean, gain, bias, [&](I q, F m, F g, F b) {
    return round(((Ops::toFloat(Ops::sub(q, zeroPoint)) - m) * g + b) * inv);
  });
}

template <class Ops> constexpr CodeNormKernels makeCodeNormKernels() {
  return {&layerNormCodes<Ops, uint8_t>, &layerNormCodes<Ops, int8_t>, &channelNormCodes<Ops, uint8_t>,
          &channelNormCodes<Ops, int8_t>};
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_NORM_CODENORMTILE_INC_H
