// Pooling cells, channels innermost: a block of channels stays in registers while the taps go by.
#ifndef KERNELS_POOL_POOLTILE_INC_H
#define KERNELS_POOL_POOLTILE_INC_H

#include "kernels/pool/PoolDetail.h"
#include "kernels/quantize/CodeRounder.inc.h"
#include "kernels/simd/Rows.inc.h"

namespace qfx::kernels {
namespace {

/// Calls visit(pointer to channel 0 of the tap) for each tap in (d, h, w) order.
template <class T, class Visit> inline void forTaps(const T *src, const PoolCell &cell, Visit visit) {
  for (int64_t d = 0; d < cell.counts[0]; ++d)
    for (int64_t h = 0; h < cell.counts[1]; ++h) {
      const T *p = src + d * cell.strides[0] + h * cell.strides[1];
      for (int64_t w = 0; w < cell.counts[2]; ++w, p += cell.strides[2])
        visit(p);
    }
}

template <class Ops, class T> void maxCodes(const T *src, const PoolCell &cell, int64_t channels, T *dst) {
  using C = typename Ops::template Codes<T>;
  T lowest[C::N];
  for (int j = 0; j < C::N; ++j)
    lowest[j] = static_cast<T>(CodeRange<T>::lo);
  int64_t c = 0;
  for (; c + 2 * C::N <= channels; c += 2 * C::N) {
    auto best0 = C::load(lowest), best1 = best0;
    forTaps(src + c, cell, [&](const T *p) {
      best0 = C::max(best0, C::load(p));
      best1 = C::max(best1, C::load(p + C::N));
    });
    C::store(dst + c, best0);
    C::store(dst + c + C::N, best1);
  }
  for (; c + C::N <= channels; c += C::N) {
    auto best = C::load(lowest);
    forTaps(src + c, cell, [&](const T *p) { best = C::max(best, C::load(p)); });
    C::store(dst + c, best);
  }
  if (c < channels) {
    int left = static_cast<int>(channels - c);
    forTaps(src + c, cell, [&](const T *p) {
      for (int j = 0; j < left; ++j)
        lowest[j] = p[j] > lowest[j] ? p[j] : lowest[j];
    });
    copyFew(dst + c, lowest, left);
  }
}

template <class Ops> void maxFloats(const float *src, const PoolCell &cell, int64_t channels, float *dst) {
  using F = typename Ops::F;
  constexpr int N = Ops::N;
  auto pick = [](F best, F v) { return Ops::select(Ops::either(Ops::less(best, v), Ops::isNan(v)), v, best); };
  const F lowest = Ops::set(-__builtin_inff());
  int64_t c = 0;
  for (; c + 2 * N <= channels; c += 2 * N) {
    F best0 = lowest, best1 = lowest;
    forTaps(src + c, cell, [&](const float *p) {
      best0 = pick(best0, Ops::load(p));
      best1 = pick(best1, Ops::load(p + N));
    });
    Ops::store(dst + c, best0);
    Ops::store(dst + c + N, best1);
  }
  for (; c < channels; ++c) {
    float best = -__builtin_inff();
    forTaps(src + c, cell, [&](const float *p) { best = best < *p || *p != *p ? *p : best; });
    dst[c] = best;
  }
}

template <class Ops>
void avgFloats(const float *src, const PoolCell &cell, int64_t channels, float divisor, float *dst) {
  using F = typename Ops::F;
  constexpr int N = Ops::N;
  const F div = Ops::set(divisor);
  int64_t c = 0;
  for (; c + 4 * N <= channels; c += 4 * N) {
    F sum0 = Ops::set(0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    forTaps(src + c, cell, [&](const float *p) {
      sum0 = sum0 + Ops::load(p);
      sum1 = sum1 + Ops::load(p + N);
      sum2 = sum2 + Ops::load(p + 2 * N);
      sum3 = sum3 + Ops::load(p + 3 * N);
    });
    Ops::store(dst + c, Ops::div(sum0, div));
    Ops::store(dst + c + N, Ops::div(sum1, div));
    Ops::store(dst + c + 2 * N, Ops::div(sum2, div));
    Ops::store(dst + c + 3 * N, Ops::div(sum3, div));
  }
  for (; c + N <= channels; c += N) {
    F sum = Ops::set(0);
    forTaps(src + c, cell, [&](const float *p) { sum = sum + Ops::load(p); });
    Ops::store(dst + c, Ops::div(sum, div));
  }
  for (; c < channels; ++c) {
    float sum = 0;
    forTaps(src + c, cell, [&](const float *p) { sum = sum + *p; });
    dst[c] = sum / divisor;
  }
}

template <class Ops, class T>
void avgCodes(const T *src, const PoolCell &cell, int64_t channels, const PoolRounding &r, T *dst) {
  using I = typename Ops::I;
  constexpr int N = Ops::N, B = 4 * N;
  const CodeRounder<Ops> round(CodeRange<T>::lo, CodeRange<T>::hi, r.after);
  const I correction = Ops::setInt(r.correction);
  auto finish = [&](I sum) {
    auto t = Ops::toFloat(Ops::sub(sum, correction)) * Ops::set(r.scale);
    return round(Ops::fma(Ops::div(t, Ops::set(r.divisor)), Ops::set(r.unscale), Ops::set(r.before)));
  };
  int64_t c = 0;
  for (; c + B <= channels; c += B) {
    I sum0 = Ops::setInt(0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    forTaps(src + c, cell, [&](const T *p) {
      sum0 = Ops::add(sum0, Ops::loadCodes(p));
      sum1 = Ops::add(sum1, Ops::loadCodes(p + N));
      sum2 = Ops::add(sum2, Ops::loadCodes(p + 2 * N));
      sum3 = Ops::add(sum3, Ops::loadCodes(p + 3 * N));
    });
    Ops::storeCodes4(dst + c, finish(sum0), finish(sum1), finish(sum2), finish(sum3));
  }
  if (c < channels) { // fewer than a block: exact integer sums one by one, then the same last steps
    int32_t sums[B] = {};
    T out[B];
    int left = static_cast<int>(channels - c);
    forTaps(src + c, cell, [&](const T *p) {
      for (int j = 0; j < left; ++j)
        sums[j] += p[j];
    });
    Ops::storeCodes4(out, finish(Ops::loadInt(sums)), finish(Ops::loadInt(sums + N)),
                     finish(Ops::loadInt(sums + 2 * N)), finish(Ops::loadInt(sums + 3 * N)));
    copyFew(dst + c, out, left);
  }
}

template <class Ops> constexpr PoolKernels makePoolKernels() {
  return {&maxFloats<Ops>, &maxCodes<Ops, uint8_t>, &maxCodes<Ops, int8_t>,
          &avgFloats<Ops>, &avgCodes<Ops, uint8_t>, &avgCodes<Ops, int8_t>};
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_POOL_POOLTILE_INC_H
