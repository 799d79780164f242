// What a float GEMM tile is called with.
#ifndef KERNELS_SGEMM_SGEMMTILE_H
#define KERNELS_SGEMM_SGEMMTILE_H

#include <cstdint>

namespace qfx::kernels {

inline constexpr int kMaxSgemmRows = 12;
inline constexpr int kSgemmWidePanels = 4;

/// c[i][j] = clamp(start + sum over runs r and p < length of x[p] * b[r * length + p][j]) with
/// x = rows[r * rowsStride + i] + offset, one fma chain per element in the order (r, p).
/// \param init  [columns] start values of every row, or null: start from c.
/// \param b     one panel, [runs * length][columns]; a wide tile reads kSgemmWidePanels of them, panelStride apart.
#define QFX_SGEMM_ARGS                                                                                                 \
  int64_t runs, int64_t length, const float *const *rows, int64_t rowsStride, int64_t offset, const float *b,          \
      int64_t panelStride, const float *init, float *c, int64_t ldc, float lo, float hi

using SgemmTileFn = void (*)(QFX_SGEMM_ARGS);

/// The tiles of one instruction set: by number of rows (1 .. rows), and the wide one for a single row.
struct SgemmTileTable {
  SgemmTileFn byRows[kMaxSgemmRows];
  SgemmTileFn wide;
};

#define QFX_SGEMM(IsaName, Table, Rows, Columns) extern const SgemmTileTable Table;
#include "kernels/sgemm/SgemmKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_SGEMM_SGEMMTILE_H
