// The depthwise tile, once for all instruction sets with 4-tap dot products.
//
// Ops gives: Bytes, Acc, Float, kWidth (channels of a block, 4 accumulators), loadBytes, interleave (4 taps to 4 vectors
// of 4-tap dwords), dot(acc, dwords, weights, j), and the epilogue words of GemmTile.inc.h.
// Included by the instruction set files only; everything is local to them.
#include "kernels/depthwise/DepthwiseTile.h"

#define QFX_INLINE inline __attribute__((always_inline))

namespace {
namespace depthwise {

using qfx::kernels::DepthwiseTile;

template <class Ops> QFX_INLINE void runTile(const DepthwiseTile &tile) {
  using Acc = typename Ops::Acc;
  constexpr int kWidth = Ops::kWidth, kLanes = kWidth / 4;
  const typename Ops::Float bound = Ops::broadcast(static_cast<float>(tile.high - tile.zeroPoint));
  const char *weights = static_cast<const char *>(tile.weights);
  const int64_t blockBytes = tile.tapGroups * kWidth * Ops::kGroupBytes;
  for (int64_t first = 0; first < tile.channels; first += kWidth, weights += blockBytes) {
    const int64_t left = tile.channels - first;
    for (int64_t pixel = 0; pixel < tile.pixels; ++pixel) {
      const int64_t at = pixel * tile.srcStep + first;
      Acc acc[4] = {Ops::zero(), Ops::zero(), Ops::zero(), Ops::zero()};
      const uint8_t *const *taps = tile.taps;
      const char *w = weights;
      for (int64_t group = 0; group < tile.tapGroups; ++group, taps += 4, w += kWidth * Ops::kGroupBytes) {
        typename Ops::Bytes dwords[4];
        Ops::interleave(Ops::loadBytes(taps[0] + at), Ops::loadBytes(taps[1] + at), Ops::loadBytes(taps[2] + at),
                        Ops::loadBytes(taps[3] + at), dwords);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
          acc[j] = Ops::dot(acc[j], dwords[j], w + j * kLanes * Ops::kGroupBytes);
      }
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const int64_t c = first + j * kLanes;
        typename Ops::Float value = Ops::toFloat(Ops::add(acc[j], Ops::loadInts(tile.offset + c)));
        value = Ops::addFloats(value, Ops::loadFloats(tile.bias + c));
        value = Ops::mulFloats(value, Ops::loadFloats(tile.multiplier + c));
        acc[j] = Ops::roundBelow(value, bound);
      }
      uint8_t *dst = tile.dst + pixel * tile.dstStep + first;
      if (left >= kWidth) {
        Ops::storeCodes(dst, acc, tile);
        continue;
      }
      uint8_t row[kWidth];
      Ops::storeCodes(row, acc, tile);
      for (int64_t c = 0; c < left; ++c)
        dst[c] = row[c];
    }
  }
}

} // namespace depthwise
} // namespace
