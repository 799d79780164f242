// Cuts a block of rows into tiles and sets apart the codes a kernel cannot multiply exactly.
#include "kernels/gemm/Gemm.h"

#include <algorithm>
#include <cstring>

namespace qfx::kernels {

static int64_t roundUp64(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static int64_t tileCount(const PackedGemm &weights, int64_t rows) {
  return (rows + weights.kernel->rows - 1) / weights.kernel->rows;
}

namespace {
/// The scratch memory of a block: tile descriptions; per tile a copy of its rows (two bytes per code where they are split), high codes and
/// their steps.
struct BlockScratch {
  static constexpr int64_t kSparse = 4; ///< at most one step in so many may have high codes
  int64_t capacity, tilesBytes, copyBytes, highBytes, stepBytes; ///< steps, or sums of split rows

  BlockScratch(const PackedGemm &weights, int64_t tiles) {
    capacity = weights.steps / kSparse + 1;
    tilesBytes = roundUp64(tiles * static_cast<int64_t>(sizeof(TileCodes)));
    bool splits = weights.kernel->highCodes != nullptr;
    copyBytes = splits ? roundUp64(weights.kernel->rows * 2 * weights.paddedDepth()) : 0;
    highBytes = splits ? roundUp64(weights.kernel->rows * capacity * 8) : 0;
    stepBytes = splits ? roundUp64(std::max<int64_t>(capacity, weights.kernel->rows) * static_cast<int64_t>(sizeof(int32_t))) : 0;
  }
  int64_t perTile() const { return copyBytes + highBytes + stepBytes; }
};
} // namespace

int64_t getBlockScratchBytes(const PackedGemm &weights, int64_t rows) {
  int64_t tiles = tileCount(weights, rows);
  BlockScratch layout(weights, tiles);
  return layout.tilesBytes + tiles * layout.perTile();
}

/// Looks for high codes in one tile; when they are few, moves them into `memory`, when they are many, writes the split codes there.
static void separateHighCodes(const PackedGemm &weights, const BlockScratch &layout, int64_t rows, TileCodes &tile,
                              char *memory) {
  const HighCodes &codes = *weights.kernel->highCodes;
  auto *copy = reinterpret_cast<uint8_t *>(memory), *high = copy + layout.copyBytes;
  auto *found = reinterpret_cast<int32_t *>(high + layout.highBytes);
  int64_t count = codes.find(tile.a, rows, weights.steps, tile.ldaElems, layout.capacity, found);
  const int64_t depth = weights.paddedDepth();
  tile.below128 = count <= layout.capacity;
  if (count == 0)
    return;
  if (!tile.below128) {
    tile.split = copy;
    tile.ldSplitElems = 2 * depth;
    tile.splitSum = found;
    codes.split(tile.a, rows, weights.steps, tile.ldaElems, copy, tile.ldSplitElems, found);
    return;
  }
  for (int64_t r = 0; r < rows; ++r)
    std::memcpy(copy + r * depth, tile.a + r * tile.ldaElems, depth);
  tile.a = copy;
  tile.ldaElems = depth;
  tile.highCodes = high;
  tile.ldhElems = count * 8;
  tile.highStep = found;
  tile.highSteps = count;
  codes.cut(copy, rows, depth, found, count, high, tile.ldhElems);
}

void prepareBlock(const PackedGemm &weights, const RequantParams &params, GemmBlock &block, void *scratch) {
  // Tiles of even height: 49 rows are nine tiles of 5 or 6 and not eight of 6 and one of 1.
  const int64_t tiles = tileCount(weights, block.rows);
  BlockScratch layout(weights, tiles);
  auto *codes = static_cast<TileCodes *>(scratch);
  char *memory = static_cast<char *>(scratch) + layout.tilesBytes;
  for (int64_t t = 0; t < tiles; ++t, memory += layout.perTile()) {
    int64_t row = block.rows * t / tiles, rows = block.rows * (t + 1) / tiles - row;
    codes[t] = {};
    codes[t].a = block.a + row * block.ldaElems;
    codes[t].ldaElems = block.ldaElems;
    if (weights.kernel->highCodes && params.exact32)
      separateHighCodes(weights, layout, rows, codes[t], memory);
  }
  block.tiles = codes;
}

} // namespace qfx::kernels
