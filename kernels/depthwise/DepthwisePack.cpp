// Packing of depthwise weights.
#include "kernels/depthwise/DepthwisePack.h"

#include <cstring>

namespace qfx::kernels {

static int64_t packedWeightBytes(const PackedDepthwise &packed) {
  int64_t taps = packed.tapGroups() * packed.kernel->tapGroup;
  return (packed.paddedChannels() * taps + 63) / 64 * 64;
}

static PackedDepthwise makePacked(const ConvShape &shape, const DepthwiseKernel &kernel) {
  PackedDepthwise packed;
  packed.shape = shape;
  packed.kernel = &kernel;
  return packed;
}

int64_t getPackedDepthwiseBytes(const ConvShape &shape, const DepthwiseKernel &kernel) {
  return packedWeightBytes(makePacked(shape, kernel)) + (shape.outChannels * int64_t(sizeof(int32_t)) + 63) / 64 * 64;
}

/// Index, in weights, of tap `t` of channel `c`.
static int64_t weightIndex(const PackedDepthwise &packed, int64_t c, int64_t t) {
  const DepthwiseKernel &kernel = *packed.kernel;
  int64_t position = depthwisePosition(kernel, c % kernel.width);
  int64_t group = (c / kernel.width * packed.tapGroups() + t / kernel.tapGroup) * kernel.width * kernel.tapGroup;
  return group + position * kernel.tapGroup + t % kernel.tapGroup;
}

int8_t getDepthwiseWeight(const PackedDepthwise &packed, int64_t c, int64_t t) {
  return packed.weights[weightIndex(packed, c, t)];
}

PackedDepthwise packDepthwise(const ConvShape &shape, const DepthwiseKernel &kernel, const int8_t *weight,
                              void *memory) {
  PackedDepthwise packed = makePacked(shape, kernel);
  int64_t bytes = packedWeightBytes(packed);
  std::memset(memory, 0, bytes);
  auto *weights = static_cast<int8_t *>(memory);
  auto *weightSum = reinterpret_cast<int32_t *>(weights + bytes);
  const int64_t taps = shape.taps();
  for (int64_t c = 0; c < shape.outChannels; ++c) {
    int32_t sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
      int8_t value = weight[c * taps + t];
      weights[weightIndex(packed, c, t)] = value;
      sum += value;
    }
    weightSum[c] = sum;
  }
  packed.weights = weights;
  packed.weightSum = weightSum;
  return packed;
}

} // namespace qfx::kernels
