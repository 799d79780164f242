// The recurrent cells over batches of hidden units, and the table of their row functions.
#ifndef KERNELS_RECURRENT_CELLTILE_INC_H
#define KERNELS_RECURRENT_CELLTILE_INC_H

#include "kernels/elementwise/MathTile.inc.h"
#include "kernels/recurrent/CellDetail.h"

namespace qfx::kernels {
namespace {

/// out[0..Outs)[i] = fn(in[0..Ins)[i]) for i in [0, n); a short last batch goes through padded buffers.  An output may
/// be the same array as an input.
template <class Ops, int Ins, int Outs, class Fn>
inline void mapStreams(const float *const (&in)[Ins], float *const (&out)[Outs], int64_t n, Fn fn) {
  constexpr int N = Ops::N;
  typename Ops::F x[Ins], y[Outs];
  int64_t i = 0;
  for (; i + N <= n; i += N) {
    for (int j = 0; j < Ins; ++j)
      x[j] = Ops::load(in[j] + i);
    fn(x, y);
    for (int j = 0; j < Outs; ++j)
      Ops::store(out[j] + i, y[j]);
  }
  if (N == 1 || i >= n)
    return;
  float buffer[N];
  for (int j = 0; j < Ins; ++j) {
    for (int lane = 0; lane < N; ++lane)
      buffer[lane] = i + lane < n ? in[j][i + lane] : 0.0f;
    x[j] = Ops::load(buffer);
  }
  fn(x, y);
  for (int j = 0; j < Outs; ++j) {
    Ops::store(buffer, y[j]);
    for (int lane = 0; i + lane < n; ++lane)
      out[j][i + lane] = buffer[lane];
  }
}

template <class Ops> void lstmCell(int64_t n, const CellArgs &args) {
  using F = typename Ops::F;
  const float *x = args.input, *h = args.hidden;
  const float *const in[] = {x, x + n, x + 2 * n, x + 3 * n, h, h + n, h + 2 * n, h + 3 * n, args.state};
  float *const out[] = {args.cell, args.dst};
  mapStreams<Ops>(in, out, n, [](const F *v, F *y) {
    F i = sigmoidBatch<Ops>(v[4] + v[0]), f = sigmoidBatch<Ops>(v[5] + v[1]);
    F g = tanhBatch<Ops>(v[6] + v[2]), o = sigmoidBatch<Ops>(v[7] + v[3]);
    y[0] = f * v[8] + i * g;
    y[1] = o * tanhBatch<Ops>(y[0]);
  });
}

template <class Ops> void gruCell(int64_t n, const CellArgs &args) {
  using F = typename Ops::F;
  const float *x = args.input, *h = args.hidden;
  const float *const in[] = {x, x + n, x + 2 * n, h, h + n, h + 2 * n, args.state};
  float *const out[] = {args.dst};
  mapStreams<Ops>(in, out, n, [](const F *v, F *y) {
    F r = sigmoidBatch<Ops>(v[3] + v[0]), z = sigmoidBatch<Ops>(v[4] + v[1]);
    F fresh = tanhBatch<Ops>(v[2] + r * v[5]);
    y[0] = (v[6] - fresh) * z + fresh;
  });
}

template <class Ops, bool Relu> void rnnCell(int64_t n, const CellArgs &args) {
  using F = typename Ops::F;
  const float *const in[] = {args.input, args.hidden};
  float *const out[] = {args.dst};
  mapStreams<Ops>(in, out, n, [](const F *v, F *y) {
    F sum = v[0] + v[1];
    y[0] = Relu ? Ops::max(Ops::set(0), sum) : tanhBatch<Ops>(sum);
  });
}

template <class Ops> constexpr CellTable makeCellTable() {
  return {{&lstmCell<Ops>, &gruCell<Ops>, &rnnCell<Ops, false>, &rnnCell<Ops, true>}};
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_RECURRENT_CELLTILE_INC_H
