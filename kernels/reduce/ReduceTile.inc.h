// Row reductions in a fixed order: sixteen interleaved lanes whatever the vector's width.
#ifndef KERNELS_REDUCE_REDUCETILE_INC_H
#define KERNELS_REDUCE_REDUCETILE_INC_H

#include "kernels/elementwise/MathTile.inc.h"
#include "kernels/reduce/ReduceDetail.h"
#include "kernels/simd/Rows.inc.h"

namespace qfx::kernels {
namespace {

constexpr int kLanes = 16;
constexpr int64_t kSumBlock = 1024;

/// Adds the sixteen lanes pairwise: 16 to 8 to 4 to 2 to 1.
inline float addLanes(float *lanes) {
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int j = 0; j < half; ++j)
      lanes[j] = lanes[j] + lanes[j + half];
  return lanes[0];
}

/// sum of fn(src[i]), f32 lanes within blocks of 1024, double over blocks.
template <class Ops, class Fn> double sumMapped(const float *src, int64_t n, Fn fn) {
  using F = typename Ops::F;
  constexpr int N = Ops::N, R = kLanes / N;
  double total = 0;
  for (int64_t b = 0; b < n; b += kSumBlock) {
    int64_t end = b + kSumBlock < n ? b + kSumBlock : n;
    F acc[R];
    for (int r = 0; r < R; ++r)
      acc[r] = Ops::set(0);
    int64_t i = b;
    for (; i + kLanes <= end; i += kLanes)
      for (int r = 0; r < R; ++r)
        acc[r] = acc[r] + fn(Ops::load(src + i + r * N));
    float lanes[kLanes];
    for (int r = 0; r < R; ++r)
      Ops::store(lanes + r * N, acc[r]);
    if (i < end) {
      float buffer[kLanes] = {};
      copyFew(buffer, src + i, end - i);
      for (int r = 0; r < R; ++r)
        Ops::store(buffer + r * N, fn(Ops::load(buffer + r * N)));
      for (int64_t j = 0; j < end - i; ++j)
        lanes[j] = lanes[j] + buffer[j];
    }
    total += static_cast<double>(addLanes(lanes));
  }
  return total;
}

template <class Ops> double sumRow(const float *src, int64_t n) {
  return sumMapped<Ops>(src, n, [](typename Ops::F v) { return v; });
}

template <class Ops> float maxRow(const float *src, int64_t n) {
  using F = typename Ops::F;
  constexpr int N = Ops::N;
  F best = Ops::set(-__builtin_inff());
  auto nan = Ops::isNan(Ops::set(0));
  int64_t i = 0;
  for (; i + N <= n; i += N) {
    F v = Ops::load(src + i);
    best = Ops::max(v, best);
    nan = Ops::either(nan, Ops::isNan(v));
  }
  float lanes[N];
  Ops::store(lanes, best);
  float result = -__builtin_inff();
  bool anyNan = Ops::any(nan);
  for (int j = 0; j < N; ++j)
    result = lanes[j] > result ? lanes[j] : result;
  for (; i < n; ++i) {
    result = src[i] > result ? src[i] : result;
    anyNan = anyNan || src[i] != src[i];
  }
  return anyNan ? __builtin_nanf("") : result + 0.0f;
}

template <class Ops> void sumRows(const float *src, int64_t count, int64_t rowStride, int64_t channels, double *dst) {
  for (int64_t c = 0; c < channels; ++c)
    dst[c] = 0;
  for (int64_t r = 0; r < count; ++r)
    for (int64_t c = 0; c < channels; ++c)
      dst[c] += static_cast<double>(src[r * rowStride + c]);
}

template <class Ops>
void scaleShiftRow(const float *src, float *dst, int64_t n, const float *scale, const float *bias) {
  constexpr int N = Ops::N;
  int64_t i = 0;
  for (; i + N <= n; i += N)
    Ops::store(dst + i, Ops::load(src + i) * Ops::load(scale + i) + Ops::load(bias + i));
  for (; i < n; ++i)
    dst[i] = src[i] * scale[i] + bias[i];
}

template <class Ops> void scaleShiftOneRow(const float *src, float *dst, int64_t n, float scale, float bias) {
  auto s = Ops::set(scale), b = Ops::set(bias);
  mapRow<Ops>(src, dst, n, [&](typename Ops::F x) { return x * s + b; });
}

template <class Ops> void softmaxRow(const float *src, float *dst, int64_t n) {
  using F = typename Ops::F;
  F top = Ops::set(maxRow<Ops>(src, n));
  mapRow<Ops>(src, dst, n, [&](F x) { return expBatch<Ops>(x - top); });
  F total = Ops::set(static_cast<float>(sumRow<Ops>(dst, n)));
  mapRow<Ops>(dst, dst, n, [&](F e) { return Ops::div(e, total); });
}

template <class Ops> void logSoftmaxRow(const float *src, float *dst, int64_t n) {
  using F = typename Ops::F;
  F top = Ops::set(maxRow<Ops>(src, n));
  double total = sumMapped<Ops>(src, n, [&](F x) { return expBatch<Ops>(x - top); });
  F logTotal = logBatch<Ops>(Ops::set(static_cast<float>(total)));
  mapRow<Ops>(src, dst, n, [&](F x) { return x - top - logTotal; });
}

template <class Ops>
void layerNormRow(const float *src, float *dst, int64_t n, const float *weight, const float *bias, double eps) {
  using F = typename Ops::F;
  constexpr int N = Ops::N;
  const double count = static_cast<double>(n);
  const F mean = Ops::set(static_cast<float>(sumRow<Ops>(src, n) / count));
  const double squares = sumMapped<Ops>(src, n, [&](F x) { return (x - mean) * (x - mean); });
  const F factor = Ops::set(static_cast<float>(1.0 / __builtin_sqrt(squares / count + eps)));
  auto apply = [&](const float *x, const float *w, const float *b) {
    F y = (Ops::load(x) - mean) * factor;
    y = w ? y * Ops::load(w) : y;
    return b ? y + Ops::load(b) : y;
  };
  int64_t i = 0;
  for (; i + N <= n; i += N)
    Ops::store(dst + i, apply(src + i, weight ? weight + i : nullptr, bias ? bias + i : nullptr));
  if (i == n)
    return;
  float x[N] = {}, w[N] = {}, b[N] = {};
  copyFew(x, src + i, n - i);
  if (weight)
    copyFew(w, weight + i, n - i);
  if (bias)
    copyFew(b, bias + i, n - i);
  Ops::store(x, apply(x, weight ? w : nullptr, bias ? b : nullptr));
  copyFew(dst + i, x, n - i);
}

template <class Ops> constexpr ReduceKernels makeReduceKernels() {
  return {&sumRow<Ops>,           &maxRow<Ops>,     &sumRows<Ops>,      &scaleShiftRow<Ops>,
          &scaleShiftOneRow<Ops>, &softmaxRow<Ops>, &logSoftmaxRow<Ops>, &layerNormRow<Ops>};
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_REDUCE_REDUCETILE_INC_H
