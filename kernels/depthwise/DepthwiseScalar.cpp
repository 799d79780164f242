// The depthwise tile in plain C++: the oracle for every other instruction set.
#include "kernels/depthwise/DepthwiseTile.h"

#include "kernels/requant/Requant.h"

#include <algorithm>

using namespace qfx::kernels;

void qfx::kernels::depthwise_u8s8s32_16x1_scalar(const DepthwiseTile &tile) {
  constexpr int kWidth = 16;
  for (int64_t first = 0; first < tile.channels; first += kWidth) {
    const int8_t *weights = tile.weights + first * tile.tapGroups;
    int64_t count = std::min<int64_t>(kWidth, tile.channels - first);
    for (int64_t pixel = 0; pixel < tile.pixels; ++pixel) {
      int32_t acc[kWidth] = {};
      for (int64_t t = 0; t < tile.tapGroups; ++t) {
        const uint8_t *src = tile.taps[t] + pixel * tile.srcStep + first;
        for (int64_t c = 0; c < count; ++c)
          acc[c] += src[c] * weights[t * kWidth + c];
      }
      for (int64_t c = 0; c < count; ++c) {
        int32_t total = static_cast<int32_t>(static_cast<uint32_t>(acc[c]) +
                                             static_cast<uint32_t>(tile.offset[first + c]));
        float value = (static_cast<float>(total) + tile.bias[first + c]) * tile.multiplier[first + c];
        int32_t code = roundClamp(value, tile.low - tile.zeroPoint, tile.high - tile.zeroPoint) + tile.zeroPoint;
        tile.dst[pixel * tile.dstStep + first + c] = static_cast<uint8_t>(code);
      }
    }
  }
}
