// Adding a row of codes to a row of floats, and its table.
#ifndef KERNELS_EMBEDDING_EMBEDDINGTILE_INC_H
#define KERNELS_EMBEDDING_EMBEDDINGTILE_INC_H

#include "kernels/embedding/EmbeddingDetail.h"
#include "kernels/simd/Rows.inc.h"

namespace qfx::kernels {
namespace {

template <class Ops> void addCodeRow(const uint8_t *codes, float *dst, int64_t n, float scale, float bias) {
  constexpr int N = Ops::N;
  const auto s = Ops::set(scale), b = Ops::set(bias);
  auto add = [&](const uint8_t *q, float *d) {
    Ops::store(d, Ops::fma(s, Ops::toFloat(Ops::loadCodes(q)), Ops::load(d) + b));
  };
  int64_t i = 0;
  for (; i + N <= n; i += N)
    add(codes + i, dst + i);
  if (i < n) {
    uint8_t lastCodes[N] = {};
    float last[N] = {};
    copyFew(lastCodes, codes + i, n - i);
    copyFew(last, dst + i, n - i);
    add(lastCodes, last);
    copyFew(dst + i, last, n - i);
  }
}

template <class Ops> constexpr EmbeddingKernels makeEmbeddingKernels() { return {&addCodeRow<Ops>}; }

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_EMBEDDING_EMBEDDINGTILE_INC_H
