// Drives the GEMM microkernels over blocks of rows and panels of columns.
#include "kernels/gemm/Gemm.h"

#include "kernels/gemm/GemmBlocking.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace qfx::kernels {

GemmPlan planGemm(const PackedGemm &weights, int64_t rows, int threads) {
  GemmBlocking blocking = chooseBlocking(weights, rows, 1, threads);
  GemmPlan plan;
  plan.weights = weights;
  plan.rows = rows;
  plan.rowsPerBlock = blocking.rowsPerBlock;
  plan.rowBlocks = blocking.rowBlocks;
  plan.panelsPerBlock = blocking.panelsPerBlock;
  plan.columnBlocks = blocking.columnBlocks;
  return plan;
}

/// Rows are read in place unless a whole last step would reach behind them.
static bool needsCopy(const PackedGemm &weights) { return weights.depth != weights.paddedDepth(); }

static int64_t copyBytes(const GemmPlan &plan) {
  return needsCopy(plan.weights) ? (plan.rowsPerBlock * plan.weights.paddedDepth() + 63) / 64 * 64 : 0;
}

int64_t getGemmScratchBytes(const GemmPlan &plan) {
  return copyBytes(plan) + getBlockScratchBytes(plan.weights, plan.rowsPerBlock);
}

/// The part of a tile that does not depend on panel and rows.
static GemmTile makeTile(const PackedGemm &weights, const RequantParams &params, const GemmBlock &block) {
  GemmTile tile = {};
  tile.blocks = weights.steps;
  tile.output = block.output;
  tile.ldcElems = block.ldcElems;
  tile.zeroPoint = params.zeroPoint;
  tile.low = params.low;
  tile.high = params.high;
  tile.floor = params.floor;
  tile.fusesBias = params.fusesBias;
  return tile;
}

static void pointToPanel(GemmTile &tile, const PackedGemm &weights, int64_t panel) {
  int64_t firstColumn = panel * weights.kernel->columns;
  tile.b = weights.panels + firstColumn * weights.paddedDepth();
  tile.order = weights.order ? weights.order + panel * weights.steps : nullptr;
  tile.place = weights.place ? weights.place + panel * weights.steps : nullptr;
  tile.safeBlocks = weights.safeSteps ? weights.safeSteps[panel] : 0;
  tile.balancedBlocks = weights.balancedSteps ? weights.balancedSteps[panel] : 0;
  tile.weightSum = weights.weightSum + firstColumn;
  tile.columns = static_cast<int>(std::min<int64_t>(weights.kernel->columns, weights.columns - firstColumn));
}

static char *elementAddress(void *base, TileOutput output, int64_t element) {
  return static_cast<char *>(base) + element * (output == TileOutput::Code ? 1 : 4);
}

/// Rows [0, rows) of a panel through int64: int32 partial sums over at most 65536 codes of k each.
static void runWideTile(const PackedGemm &weights, const RequantParams &params, const GemmBlock &block,
                        const GemmTile &panelTile, int rows, const uint8_t *a, int64_t channel, char *dst) {
  constexpr int kMostRows = 8, kMostColumns = 64;
  int64_t acc[kMostRows][kMostColumns] = {};
  int32_t part[kMostRows][kMostColumns];
  const GemmKernel &kernel = *weights.kernel;
  const int64_t stepsPerPart = 65536 / kernel.kStep;
  const int64_t width = (panelTile.columns + kernel.vectorColumns - 1) / kernel.vectorColumns * kernel.vectorColumns;
  for (int64_t step = 0; step < weights.steps; step += stepsPerPart) {
    GemmTile tile = panelTile;
    tile.output = TileOutput::S32;
    tile.blocks = std::min(stepsPerPart, weights.steps - step);
    tile.b = panelTile.b + step * kernel.kStep * width;
    tile.a = tile.order ? a : a + step * kernel.kStep;
    tile.order = tile.order ? tile.order + step : nullptr;
    tile.safeBlocks = std::clamp<int64_t>(panelTile.safeBlocks - step, 0, tile.blocks);
    tile.c = part;
    tile.ldcElems = kMostColumns;
    kernel.run(rows, tile);
    for (int r = 0; r < rows; ++r)
      for (int n = 0; n < tile.columns; ++n)
        acc[r][n] += part[r][n];
  }
  for (int r = 0; r < rows; ++r) {
    int64_t rowSum = 0;
    if (params.weightZeroPoint)
      for (int64_t k = 0; k < weights.depth; ++k)
        rowSum += a[r * block.ldaElems + k];
    char *row = elementAddress(dst, block.output, r * block.ldcElems);
    if (block.output == TileOutput::Code)
      requantizeRow(acc[r], rowSum, channel, panelTile.columns, params, reinterpret_cast<uint8_t *>(row));
    else
      dequantizeRow(acc[r], rowSum, channel, panelTile.columns, params, reinterpret_cast<float *>(row));
  }
}

void runBlock(const PackedGemm &weights, const RequantParams &params, const GemmBlock &block) {
  const GemmKernel &kernel = *weights.kernel;
  GemmTile tile = makeTile(weights, params, block);
  const int64_t tiles = (block.rows + kernel.rows - 1) / kernel.rows;
  for (int64_t panel = block.panelBegin; panel < block.panelEnd; ++panel) {
    pointToPanel(tile, weights, panel);
    int64_t column = panel * kernel.columns, channel = block.firstChannel + column;
    tile.offset = params.offset + channel;
    tile.bias = params.bias + channel;
    tile.multiplier = params.multiplier + channel;
    for (int64_t t = 0; t < tiles; ++t) {
      int64_t row = block.rows * t / tiles;
      int rows = static_cast<int>(block.rows * (t + 1) / tiles - row);
      const TileCodes &codes = block.tiles[t];
      tile.a = codes.a;
      tile.ldaElems = codes.ldaElems;
      tile.below128 = codes.below128;
      tile.highCodes = codes.highCodes;
      tile.ldhElems = codes.ldhElems;
      tile.highStep = codes.highStep;
      tile.highSteps = codes.highSteps;
      tile.split = codes.split;
      tile.ldSplitElems = codes.ldSplitElems;
      tile.splitSum = codes.splitSum;
      char *dst = elementAddress(block.dst, block.output, row * block.ldcElems + column);
      tile.c = dst;
      if (params.exact32)
        kernel.run(rows, tile);
      else
        runWideTile(weights, params, block, tile, rows, tile.a, channel, dst);
    }
  }
}

void runGemm(const GemmPlan &plan, const RequantParams &params, TileOutput output, const uint8_t *a, int64_t ldaElems,
             void *dst, int64_t ldcElems, void *scratch, int64_t begin, int64_t end) {
  assert((output != TileOutput::S32 || params.exact32) && "wide sums do not fit s32");
  const PackedGemm &weights = plan.weights;
  int64_t readyBlock = -1; // the row block that `block` describes
  GemmBlock block;
  block.output = output;
  block.ldcElems = ldcElems;
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t rowBlock = unit / plan.columnBlocks, columnBlock = unit % plan.columnBlocks;
    if (rowBlock != readyBlock) {
      readyBlock = rowBlock;
      int64_t row = rowBlock * plan.rowsPerBlock;
      block.rows = std::min(plan.rowsPerBlock, plan.rows - row);
      block.a = a + row * ldaElems;
      block.ldaElems = ldaElems;
      if (needsCopy(weights)) {
        auto *copy = static_cast<uint8_t *>(scratch);
        int64_t width = weights.paddedDepth();
        for (int64_t r = 0; r < block.rows; ++r) {
          std::memcpy(copy + r * width, block.a + r * ldaElems, weights.depth);
          std::memset(copy + r * width + weights.depth, 0, width - weights.depth);
        }
        block.a = copy;
        block.ldaElems = width;
      }
      prepareBlock(weights, params, block, static_cast<char *>(scratch) + copyBytes(plan));
      block.dst = elementAddress(dst, output, row * ldcElems);
    }
    block.panelBegin = columnBlock * plan.panelsPerBlock;
    block.panelEnd = std::min(block.panelBegin + plan.panelsPerBlock, weights.panelCount());
    runBlock(weights, params, block);
  }
}

} // namespace qfx::kernels
