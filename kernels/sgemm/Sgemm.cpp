// Packs B and blocks the product for the caches around the tiles.
#include "kernels/sgemm/Sgemm.h"

#include <algorithm>
#include <cassert>

namespace qfx::kernels {

static constexpr SgemmKernel kKernels[] = {
#define QFX_SGEMM(IsaName, Table, Rows, Columns) {Isa::IsaName, #Table, Rows, Columns, &Table},
#include "kernels/sgemm/SgemmKernels.def"
};

std::span<const SgemmKernel> getSgemmKernels() { return kKernels; }

const SgemmKernel &selectSgemm(Isa isa) {
  const SgemmKernel *best = &kKernels[0];
  for (const SgemmKernel &kernel : kKernels)
    if (isIsaUsable(kernel.isa, isa))
      best = &kernel;
  return *best;
}

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t getSgemmPackedSize(const SgemmKernel &kernel, int64_t n, int64_t k) {
  return ceilDiv(n, kernel.columns) * kernel.columns * k;
}

int64_t getSgemmScratchSize(const SgemmKernel &kernel, int64_t k) { return kernel.columns * k; }

static void packPanel(int columns, int64_t count, int64_t k, const float *b, int64_t strideN, int64_t strideK,
                      float *dst) {
  for (int64_t p = 0; p < k; ++p, dst += columns) {
    for (int64_t j = 0; j < count; ++j)
      dst[j] = b[j * strideN + p * strideK];
    std::fill(dst + count, dst + columns, 0.0f);
  }
}

void packSgemm(const SgemmKernel &kernel, int64_t n, int64_t k, const float *b, int64_t strideN, int64_t strideK,
               float *packed) {
  for (int64_t j = 0; j < n; j += kernel.columns)
    packPanel(kernel.columns, std::min<int64_t>(kernel.columns, n - j), k, b + j * strideN, strideN, strideK,
              packed + j * k);
}

/// Depth of a block: its panel (16 KB for 16 columns) stays in the first-level cache while the rows go by.
static constexpr int64_t kDepth = 256;
/// Input floats of a block of rows, per pass over the panels: a part of the second-level cache.
static constexpr int64_t kBlockFloats = 48 * 1024;

int64_t getSgemmBlockRows(const SgemmKernel &kernel, int64_t k) {
  int64_t rows = kBlockFloats / std::max<int64_t>(1, std::min(k, kDepth * 4));
  rows = std::clamp<int64_t>(rows, kernel.rows, kMaxSgemmBlockRows);
  return rows / kernel.rows * kernel.rows;
}

namespace {
/// A stretch of K that one tile call covers: `runs` whole taps, or a part of one.
struct DepthBlock {
  int64_t tap, runs, offset, length;
  bool first, last;
};
} // namespace

/// One tile, through a buffer where the panel is wider than what is left of C.
static void runTile(const SgemmKernel &kernel, const SgemmArgs &args, const SgemmRows &rows, const DepthBlock &block,
                    int64_t tile, int64_t numRows, int64_t column, const float *init) {
  const int64_t depth = rows.taps * rows.tapLength;
  const float *const *pointers = rows.pointers + (tile * rows.taps + block.tap) * kernel.rows;
  const float *b = args.packed + column * depth + (block.tap * rows.tapLength + block.offset) * kernel.columns;
  float *c = args.c + tile * kernel.rows * args.ldc + column;
  const float lo = block.last ? args.lo : -__builtin_inff(), hi = block.last ? args.hi : __builtin_inff();
  SgemmTileFn run = kernel.tiles->byRows[numRows - 1];
  const int64_t width = args.n - column;
  if (width >= kernel.columns)
    return run(block.runs, block.length, pointers, kernel.rows, rows.offset + block.offset, b, 0, init, c, args.ldc, lo,
               hi);
  float buffer[kMaxSgemmRows * kMaxSgemmColumns] = {};
  if (!init)
    for (int64_t i = 0; i < numRows; ++i)
      std::copy_n(c + i * args.ldc, width, buffer + i * kernel.columns);
  run(block.runs, block.length, pointers, kernel.rows, rows.offset + block.offset, b, 0, init, buffer, kernel.columns,
      lo, hi);
  for (int64_t i = 0; i < numRows; ++i)
    std::copy_n(buffer + i * kernel.columns, width, c + i * args.ldc);
}

/// All columns of one stretch of K.
static void runDepth(const SgemmKernel &kernel, const SgemmArgs &args, const SgemmRows &rows, const DepthBlock &block,
                     int64_t nBegin, int64_t nEnd) {
  float start[kMaxSgemmColumns * kSgemmWidePanels];
  const int64_t wide = static_cast<int64_t>(kernel.columns) * kSgemmWidePanels;
  const int64_t depth = rows.taps * rows.tapLength;
  int64_t column = nBegin;
  while (column < nEnd) {
    const bool useWide = rows.numRows == 1 && column + wide <= nEnd;
    const int64_t step = useWide ? wide : kernel.columns;
    for (int64_t j = 0; j < step; ++j)
      start[j] = args.bias && column + j < args.n ? args.bias[column + j] : 0.0f;
    const float *init = block.first ? start : nullptr;
    if (useWide) {
      const float *b = args.packed + column * depth + (block.tap * rows.tapLength + block.offset) * kernel.columns;
      kernel.tiles->wide(block.runs, block.length, rows.pointers + block.tap * kernel.rows, kernel.rows,
                         rows.offset + block.offset, b, kernel.columns * depth, init, args.c + column, args.ldc,
                         block.last ? args.lo : -__builtin_inff(), block.last ? args.hi : __builtin_inff());
    } else {
      for (int64_t m = 0; m < rows.numRows; m += kernel.rows)
        runTile(kernel, args, rows, block, m / kernel.rows, std::min<int64_t>(kernel.rows, rows.numRows - m), column,
                init);
    }
    column += step;
  }
}

void sgemmRows(const SgemmKernel &kernel, const SgemmArgs &args, const SgemmRows &rows, int64_t nBegin, int64_t nEnd) {
  assert(nBegin % kernel.columns == 0 && (nEnd % kernel.columns == 0 || nEnd == args.n) && "columns split a panel");
  const int64_t length = rows.tapLength;
  if (rows.taps * length == 0) // no depth: the bias alone
    return runDepth(kernel, args, rows, {0, 0, 0, 0, true, true}, nBegin, nEnd);
  const int64_t depth = rows.numRows == 1 ? length * rows.taps : kDepth;
  if (length > depth) {
    const int64_t parts = ceilDiv(length, depth), part = ceilDiv(length, parts);
    for (int64_t tap = 0; tap < rows.taps; ++tap)
      for (int64_t offset = 0; offset < length; offset += part) {
        bool first = tap == 0 && offset == 0, last = tap + 1 == rows.taps && offset + part >= length;
        runDepth(kernel, args, rows, {tap, 1, offset, std::min(part, length - offset), first, last}, nBegin, nEnd);
      }
    return;
  }
  const int64_t runs = ceilDiv(rows.taps, ceilDiv(rows.taps, std::max<int64_t>(1, depth / length)));
  for (int64_t tap = 0; tap < rows.taps; tap += runs) {
    int64_t count = std::min(runs, rows.taps - tap);
    runDepth(kernel, args, rows, {tap, count, 0, length, tap == 0, tap + count == rows.taps}, nBegin, nEnd);
  }
}

void sgemm(const SgemmKernel &kernel, const SgemmArgs &args, int64_t mBegin, int64_t mEnd, int64_t nBegin,
           int64_t nEnd) {
  const float *pointers[kMaxSgemmBlockRows + kMaxSgemmRows];
  const int64_t block = getSgemmBlockRows(kernel, args.k);
  for (int64_t m = mBegin; m < mEnd; m += block) {
    const int64_t count = std::min(block, mEnd - m);
    for (int64_t i = 0; i < count; ++i)
      pointers[i] = args.a + (m + i) * args.lda;
    SgemmArgs part = args;
    part.c = args.c + m * args.ldc;
    sgemmRows(kernel, part, {count, 1, args.k, pointers}, nBegin, nEnd);
  }
}

void sgemmUnpacked(const SgemmKernel &kernel, SgemmArgs args, const float *b, int64_t strideN, int64_t strideK,
                   int64_t mBegin, int64_t mEnd, float *scratch) {
  const int64_t columns = kernel.columns, n = args.n;
  const float *bias = args.bias;
  float *c = args.c;
  args.packed = scratch;
  for (int64_t j = 0; j < n; j += columns) {
    args.n = std::min(columns, n - j);
    packPanel(kernel.columns, args.n, args.k, b + j * strideN, strideN, strideK, scratch);
    args.bias = bias ? bias + j : nullptr;
    args.c = c + j;
    sgemm(kernel, args, mBegin, mEnd, 0, args.n);
  }
}

} // namespace qfx::kernels
