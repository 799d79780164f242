// The float GEMM tile, once: accumulators in registers, one row broadcast at a time.
#ifndef KERNELS_SGEMM_SGEMMTILE_INC_H
#define KERNELS_SGEMM_SGEMMTILE_INC_H

#include "kernels/sgemm/SgemmTile.h"

namespace qfx::kernels {
namespace {

/// V names a vector type `F` of `N` floats and load, store, broadcast(pointer), fma, min, max.  MR rows, NV vectors per
/// panel, NP panels side by side.
template <class V, int MR, int NV, int NP> void sgemmTile(QFX_SGEMM_ARGS) {
  using F = typename V::F;
  constexpr int W = NV * NP, panel = NV * V::N;
  F acc[MR][W];
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < W; ++j)
      acc[i][j] = V::load(init ? init + j * V::N : c + i * ldc + j * V::N);
  for (int64_t r = 0; r < runs; ++r) {
    const float *a[MR];
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i)
      a[i] = rows[r * rowsStride + i] + offset;
    for (int64_t p = 0; p < length; ++p) {
      F bv[W];
#pragma GCC unroll 16
      for (int j = 0; j < W; ++j)
        bv[j] = V::load(b + j / NV * panelStride + j % NV * V::N);
      b += panel;
#pragma GCC unroll 16
      for (int i = 0; i < MR; ++i) {
        F av = V::broadcast(a[i] + p);
#pragma GCC unroll 16
        for (int j = 0; j < W; ++j)
          acc[i][j] = V::fma(av, bv[j], acc[i][j]);
      }
    }
  }
  const F low = V::set(lo), high = V::set(hi);
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < W; ++j)
      V::store(c + i * ldc + j * V::N, V::min(high, V::max(low, acc[i][j])));
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_SGEMM_SGEMMTILE_INC_H
