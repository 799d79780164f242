// Float matrix product C = clamp(A * B + bias) with B packed once: linear layers, convolutions, matmul.
#ifndef KERNELS_SGEMM_SGEMM_H
#define KERNELS_SGEMM_SGEMM_H

#include "kernels/isa/Isa.h"
#include "kernels/sgemm/SgemmTile.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace qfx::kernels {

/// One row of SgemmKernels.def: a tile computes up to `rows` rows of `columns` columns.
struct SgemmKernel {
  Isa isa;
  std::string_view name;
  int rows, columns;
  const SgemmTileTable *tiles;
};

/// All rows compiled for this processor family, oldest instruction set first.
std::span<const SgemmKernel> getSgemmKernels();

/// The row to use under `isa`: the last usable one.  Ask once, when a graph is prepared.
const SgemmKernel &selectSgemm(Isa isa = getCurrentIsa());

/// f32 elements of B packed for `kernel`: panels of kernel.columns columns, [panel][k][column], zero filled.
int64_t getSgemmPackedSize(const SgemmKernel &kernel, int64_t n, int64_t k);

/// Packs B.  Element (column j, depth p) is b[j * strideN + p * strideK]: a weight [N, K] has strides (K, 1), a matrix
/// [K, N] has (1, N).
void packSgemm(const SgemmKernel &kernel, int64_t n, int64_t k, const float *b, int64_t strideN, int64_t strideK,
               float *packed);

/// One product.  Each output is a single chain fma(a[m][p], b[p][j], acc) over rising p that starts with the bias (or
/// 0), so bits depend neither on the instruction set nor on how the work is split.
struct SgemmArgs {
  int64_t n, k;   // columns of C, depth
  const float *a; // [m, k], row m at a + m * lda
  int64_t lda;
  const float *packed;          // by packSgemm of the same kernel
  const float *bias;            // [n] or null
  float lo = -__builtin_inff(); // the result is min(max(y, lo), hi), NaN passing through
  float hi = __builtin_inff();
  float *c; // [m, n], row m at c + m * ldc; must not overlap a
  int64_t ldc;
};

/// Computes rows [mBegin, mEnd) and columns [nBegin, nEnd); nBegin is a multiple of kernel.columns (asserted), nEnd too
/// or equal to n.
void sgemm(const SgemmKernel &kernel, const SgemmArgs &args, int64_t mBegin, int64_t mEnd, int64_t nBegin,
           int64_t nEnd);

/// f32 elements of scratch for sgemmUnpacked: one panel.
int64_t getSgemmScratchSize(const SgemmKernel &kernel, int64_t k);

/// The same product with B as it lies (strides as in packSgemm; args.packed is not read): packs panel by panel.
void sgemmUnpacked(const SgemmKernel &kernel, SgemmArgs args, const float *b, int64_t strideN, int64_t strideK,
                   int64_t mBegin, int64_t mEnd, float *scratch);

/// Rows that are given as pointers: the common core of matrix product and convolution.  Row i of a block consists of
/// `taps` runs of `tapLength` floats; K = taps * tapLength.
struct SgemmRows {
  int64_t numRows, taps, tapLength;
  const float *const *pointers; // [ceil(numRows / kernel.rows)][taps][kernel.rows]; unused ones may be anything
  int64_t offset = 0;           // floats added to every pointer: the group's first channel
};

/// C rows 0 .. rows.numRows-1 for one packed B; fields as in SgemmArgs (a, lda, k are not read).
void sgemmRows(const SgemmKernel &kernel, const SgemmArgs &args, const SgemmRows &rows, int64_t nBegin, int64_t nEnd);

/// Rows worth giving sgemmRows at a time: their input then stays in the second-level cache.
int64_t getSgemmBlockRows(const SgemmKernel &kernel, int64_t k);

inline constexpr int kMaxSgemmBlockRows = 96;
inline constexpr int kMaxSgemmColumns = 32;

} // namespace qfx::kernels

#endif // KERNELS_SGEMM_SGEMM_H
