// Chooses row and column blocks of a GEMM.
#include "kernels/gemm/GemmBlocking.h"

#include <algorithm>

namespace qfx::kernels {

static int64_t ceilDiv(int64_t x, int64_t y) { return (x + y - 1) / y; }

GemmBlocking chooseBlocking(const PackedGemm &weights, int64_t rows, int64_t copies, int threads) {
  constexpr int64_t kPackedBytes = 192 * 1024, kMostRows = 96;
  const int64_t tile = weights.kernel->rows;
  const int64_t wanted = threads > 1 ? 4 * int64_t(threads) : 1; // units, so that uneven threads even out
  int64_t depth = std::max<int64_t>(weights.paddedDepth(), 1);

  int64_t most = std::clamp<int64_t>(kPackedBytes / depth / tile * tile, 8 * tile, ceilDiv(kMostRows, tile) * tile);
  int64_t blocks = ceilDiv(std::max<int64_t>(rows, 1), most);
  // Finer rows while a block keeps at least 8 tiles of rows to reuse a panel for.
  int64_t finest = ceilDiv(std::max<int64_t>(rows, 1), 8 * tile);
  if (blocks * copies < wanted)
    blocks = std::clamp<int64_t>(ceilDiv(wanted, copies), blocks, std::max(blocks, finest));
  GemmBlocking blocking;
  blocking.rowsPerBlock = ceilDiv(ceilDiv(std::max<int64_t>(rows, 1), blocks), tile) * tile;
  blocking.rowBlocks = ceilDiv(rows, blocking.rowsPerBlock);

  int64_t panels = std::max<int64_t>(weights.panelCount(), 1);
  int64_t parts = 1;
  if (blocking.rowBlocks * copies < wanted)
    parts = std::min(panels, ceilDiv(wanted, std::max<int64_t>(blocking.rowBlocks * copies, 1)));
  blocking.panelsPerBlock = ceilDiv(panels, parts);
  blocking.columnBlocks = ceilDiv(panels, blocking.panelsPerBlock);
  return blocking;
}

} // namespace qfx::kernels
