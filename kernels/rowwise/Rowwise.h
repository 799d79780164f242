// Plain functions of rows: reductions, running sums, order.
#ifndef KERNELS_ROWWISE_ROWWISE_H
#define KERNELS_ROWWISE_ROWWISE_H

#include <cstdint>

namespace qfx::kernels {

/// The functions of RowwiseKinds.def.
enum class RowwiseKind : uint8_t {
#define QFX_ROWWISE(Kind, ...) Kind,
#define QFX_ROWWISE_FLOAT(Kind, ...) Kind,
#include "kernels/rowwise/RowwiseKinds.def"
};

struct RowwiseParams {
  double p = 0;      ///< the correction, power or count
  bool flag = false; ///< descending
};

/// src: n consecutive elements, n >= 0 unless said; dst: the row's results; second: the second result, or null.
/// Errors: none; the largest and smallest want n >= 1 (asserted by the caller).
using RowwiseFn = void (*)(const void *src, int64_t n, void *dst, void *second, const RowwiseParams &params);

enum class RowwiseResult : uint8_t { Same, Int, Bool };

struct RowwiseInfo {
  RowwiseResult result;
  RowwiseFn onFloat; ///< on f32
  RowwiseFn onInt;   ///< on i64; null if there is none
};

const RowwiseInfo &getRowwise(RowwiseKind kind);

} // namespace qfx::kernels

#endif // KERNELS_ROWWISE_ROWWISE_H
