// Convolution as GEMMs over blocks of output pixels.
#include "kernels/conv/Conv.h"

#include "kernels/conv/Im2col.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace qfx::kernels {

static int64_t roundUp64(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static bool usesDepthwise(const ConvShape &shape, const ConvKernels &kernels) {
  return kernels.depthwise && shape.isDepthwise();
}

int64_t getPackedConvBytes(const ConvShape &shape, const ConvKernels &kernels) {
  if (usesDepthwise(shape, kernels))
    return getPackedDepthwiseBytes(shape, *kernels.depthwise);
  int64_t group = getPackedGemmBytes(*kernels.gemm, shape.groupOutChannels(), shape.reduction());
  return shape.groups * group + roundUp64(shape.outChannels * sizeof(int32_t));
}

PackedConv packConv(const ConvShape &shape, const ConvKernels &kernels, const int8_t *weight, void *memory) {
  PackedConv packed;
  packed.shape = shape;
  packed.memory = memory;
  if (usesDepthwise(shape, kernels)) {
    packed.depthwise = packDepthwise(shape, *kernels.depthwise, weight, memory);
    packed.weightSum = packed.depthwise.weightSum;
    return packed;
  }
  packed.gemm = kernels.gemm;
  packed.groupBytes = getPackedGemmBytes(*packed.gemm, shape.groupOutChannels(), shape.reduction());
  auto *weightSum = reinterpret_cast<int32_t *>(static_cast<char *>(memory) + shape.groups * packed.groupBytes);
  packed.weightSum = weightSum;
  const int64_t channels = shape.groupInChannels(), taps = shape.taps();
  for (int64_t g = 0; g < shape.groups; ++g) {
    GemmWeights weights;
    weights.data = weight + g * shape.groupOutChannels() * shape.reduction();
    weights.columns = shape.groupOutChannels();
    weights.columnStride = shape.reduction();
    weights.outerCount = taps;
    weights.outerStride = 1;
    weights.innerCount = channels;
    weights.innerStride = taps;
    PackedGemm group = packGemm(*packed.gemm, weights, static_cast<char *>(memory) + g * packed.groupBytes);
    std::memcpy(weightSum + g * shape.groupOutChannels(), group.weightSum, weights.columns * sizeof(int32_t));
  }
  return packed;
}

int64_t ConvPlan::units() const {
  return weights.gemm ? weights.shape.groups * blocking.rowBlocks * blocking.columnBlocks : depthwise.units();
}

ConvPlan planConv(const PackedConv &weights, int64_t batch, const int64_t (&in)[3], int threads) {
  ConvPlan plan;
  plan.weights = weights;
  plan.sizes = ConvSizes(weights.shape, batch, in);
  assert((batch == 0 || (plan.sizes.out[0] > 0 && plan.sizes.out[1] > 0 && plan.sizes.out[2] > 0)) &&
         "the input is smaller than the kernel");
  if (weights.gemm)
    plan.blocking = chooseBlocking(weights.group(0), plan.sizes.outPixels(), weights.shape.groups, threads);
  else
    plan.depthwise = planDepthwise(weights.depthwise, plan.sizes, threads);
  return plan;
}

/// Whether output pixels are rows of the input just as they lie.
static bool readsInPlace(const PackedConv &weights) {
  PackedGemm group = weights.group(0);
  return weights.shape.isPointwise() && group.depth == group.paddedDepth();
}

/// Scratch for the im2col rows of a block.
static int64_t columnBytes(const ConvPlan &plan) {
  return readsInPlace(plan.weights) ? 0 : roundUp64(plan.blocking.rowsPerBlock * plan.weights.group(0).paddedDepth());
}

int64_t getConvScratchBytes(const ConvPlan &plan) {
  if (!plan.weights.gemm)
    return getDepthwiseScratchBytes(plan.depthwise);
  return columnBytes(plan) + getBlockScratchBytes(plan.weights.group(0), plan.blocking.rowsPerBlock);
}

void runConv(const ConvPlan &plan, const RequantParams &params, TileOutput output, int32_t srcZeroPoint,
             const uint8_t *src, int64_t ldsElems, void *dst, int64_t lddElems, void *scratch, int64_t begin,
             int64_t end) {
  assert(output != TileOutput::S32 && "sums without their offsets are for the driver alone");
  const ConvShape &shape = plan.weights.shape;
  if (!plan.weights.gemm) {
    assert(output == TileOutput::Code && "depthwise convolution has no float output");
    runDepthwise(plan.depthwise, params, srcZeroPoint, src, ldsElems, static_cast<uint8_t *>(dst), lddElems, scratch,
                 begin, end);
    return;
  }
  const bool inPlace = readsInPlace(plan.weights);
  const int64_t pixels = plan.sizes.outPixels(), elementBytes = output == TileOutput::Code ? 1 : 4;
  int64_t readyRows = -1; // group * rowBlocks + row block that `block` describes
  PackedGemm weights;
  GemmBlock block;
  block.output = output;
  block.ldcElems = lddElems;
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t columnBlock = unit % plan.blocking.columnBlocks, rows = unit / plan.blocking.columnBlocks;
    if (rows != readyRows) {
      readyRows = rows;
      int64_t rowBlock = rows % plan.blocking.rowBlocks, g = rows / plan.blocking.rowBlocks;
      weights = plan.weights.group(g);
      int64_t first = rowBlock * plan.blocking.rowsPerBlock;
      block.rows = std::min(plan.blocking.rowsPerBlock, pixels - first);
      if (inPlace) {
        block.a = src + first * ldsElems;
        block.ldaElems = ldsElems;
      } else {
        auto *columns = static_cast<uint8_t *>(scratch);
        im2col(shape, plan.sizes, src + g * shape.groupInChannels(), ldsElems, static_cast<uint8_t>(srcZeroPoint),
               first, first + block.rows, columns, weights.paddedDepth());
        block.a = columns;
        block.ldaElems = weights.paddedDepth();
      }
      block.firstChannel = g * shape.groupOutChannels();
      prepareBlock(weights, params, block, static_cast<char *>(scratch) + columnBytes(plan));
      block.dst = static_cast<char *>(dst) + (first * lddElems + block.firstChannel) * elementBytes;
    }
    block.panelBegin = columnBlock * plan.blocking.panelsPerBlock;
    block.panelEnd = std::min(block.panelBegin + plan.blocking.panelsPerBlock, weights.panelCount());
    runBlock(weights, params, block);
  }
}

} // namespace qfx::kernels
