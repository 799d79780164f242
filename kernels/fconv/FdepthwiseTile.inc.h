// Float depthwise rows: a block of channels of one or two pixels stays in registers while the taps go by.
#ifndef KERNELS_FCONV_FDEPTHWISETILE_INC_H
#define KERNELS_FCONV_FDEPTHWISETILE_INC_H

#include "kernels/fconv/FdepthwiseDetail.h"
#include "kernels/simd/Rows.inc.h"

namespace qfx::kernels {
namespace {

/// Channels [c, c + W vectors) of P pixels.
template <class Ops, int P, int W>
inline void depthwiseBlock(int64_t taps, int64_t channels, const float *const *pointers, const float *weight,
                           const float *bias, float lo, float hi, float *dst, int64_t dstStride, int64_t c) {
  using F = typename Ops::F;
  constexpr int N = Ops::N;
  F acc[P][W];
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 4
    for (int j = 0; j < W; ++j)
      acc[p][j] = Ops::load(bias + c + j * N);
  const float *w = weight + c;
  for (int64_t t = 0; t < taps; ++t, w += channels) {
    F wv[W];
#pragma GCC unroll 4
    for (int j = 0; j < W; ++j)
      wv[j] = Ops::load(w + j * N);
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const float *x = pointers[p * taps + t] + c;
#pragma GCC unroll 4
      for (int j = 0; j < W; ++j)
        acc[p][j] = Ops::fma(Ops::load(x + j * N), wv[j], acc[p][j]);
    }
  }
  const F low = Ops::set(lo), high = Ops::set(hi);
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 4
    for (int j = 0; j < W; ++j)
      Ops::store(dst + p * dstStride + c + j * N, Ops::min(high, Ops::max(low, acc[p][j])));
}

template <class Ops, int P>
inline void depthwiseRow(int64_t taps, int64_t channels, const float *const *pointers, const float *weight,
                         const float *bias, float lo, float hi, float *dst, int64_t dstStride) {
  constexpr int N = Ops::N;
  int64_t c = 0;
  for (; c + 4 * N <= channels; c += 4 * N)
    depthwiseBlock<Ops, P, 4>(taps, channels, pointers, weight, bias, lo, hi, dst, dstStride, c);
  for (; c + N <= channels; c += N)
    depthwiseBlock<Ops, P, 1>(taps, channels, pointers, weight, bias, lo, hi, dst, dstStride, c);
  if (c < channels) {
    const int64_t left = channels - c;
    for (int p = 0; p < P; ++p) {
      float start[N] = {};
      copyFew(start, bias + c, left);
      auto acc = Ops::load(start);
      for (int64_t t = 0; t < taps; ++t) {
        float x[N] = {}, w[N] = {};
        copyFew(x, pointers[p * taps + t] + c, left);
        copyFew(w, weight + t * channels + c, left);
        acc = Ops::fma(Ops::load(x), Ops::load(w), acc);
      }
      Ops::store(start, Ops::min(Ops::set(hi), Ops::max(Ops::set(lo), acc)));
      copyFew(dst + p * dstStride + c, start, left);
    }
  }
}

template <class Ops>
void depthwise(int64_t taps, int64_t channels, const float *const *pointers, int pixels, const float *weight,
               const float *bias, float lo, float hi, float *dst, int64_t dstStride) {
  if (pixels == 2)
    depthwiseRow<Ops, 2>(taps, channels, pointers, weight, bias, lo, hi, dst, dstStride);
  else
    depthwiseRow<Ops, 1>(taps, channels, pointers, weight, bias, lo, hi, dst, dstStride);
}

template <class Ops> constexpr FdepthwiseKernels makeFdepthwiseKernels() { return {&depthwise<Ops>}; }

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_FCONV_FDEPTHWISETILE_INC_H
