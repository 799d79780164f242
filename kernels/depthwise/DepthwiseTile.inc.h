// The depthwise tile, once for all instruction sets with 4-tap dot products.
//
// Ops gives: Bytes, Acc, Float, kWidth (channels of a block, 4 accumulators), loadBytes, interleave (4 taps to 4 vectors
// of 4-tap dwords), dot(acc, dwords, weights), and the epilogue words of GemmTile.inc.h.
// Included by the instruction set files only; everything is local to them.
#include "kernels/depthwise/DepthwiseTile.h"

#define QFX_INLINE inline __attribute__((always_inline))

namespace {
namespace depthwise {

using qfx::kernels::DepthwiseTile;

/// Multiplies one group of four taps of one block of channels.
template <class Ops>
QFX_INLINE void addGroup(typename Ops::Acc (&acc)[4], const uint8_t *const *taps, int64_t at, const int8_t *weights) {
  typename Ops::Bytes dwords[4];
  Ops::interleave(Ops::loadBytes(taps[0] + at), Ops::loadBytes(taps[1] + at), Ops::loadBytes(taps[2] + at),
                  Ops::loadBytes(taps[3] + at), dwords);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j)
    acc[j] = Ops::dot(acc[j], dwords[j], weights + j * Ops::kWidth);
}

/// Groups: the number of tap groups when it is known (3 for nine taps), 0 for any.
template <class Ops, int Groups> __attribute__((noinline)) void runGroups(const DepthwiseTile &tile) {
  constexpr int kWidth = Ops::kWidth, kLanes = kWidth / 4;
  const typename Ops::Float bound = Ops::broadcast(static_cast<float>(tile.high - tile.zeroPoint));
  const int64_t groups = Groups ? Groups : tile.tapGroups;
  const int64_t blockBytes = groups * kWidth * 4;
  const int8_t *weights = static_cast<const int8_t *>(tile.weights);
  const uint8_t *const *taps = tile.taps;
  for (int64_t first = 0; first < tile.channels; first += kWidth, weights += blockBytes) {
    const int64_t left = tile.channels - first;
    uint8_t *dst = tile.dst + first;
    int64_t at = first;
    for (int64_t pixel = 0; pixel < tile.pixels; ++pixel, at += tile.srcStep, dst += tile.dstStep) {
      typename Ops::Acc acc[4] = {Ops::zero(), Ops::zero(), Ops::zero(), Ops::zero()};
      if constexpr (Groups != 0) {
#pragma GCC unroll 8
        for (int group = 0; group < Groups; ++group)
          addGroup<Ops>(acc, taps + group * 4, at, weights + group * kWidth * 4);
      } else {
        for (int64_t group = 0; group < groups; ++group)
          addGroup<Ops>(acc, taps + group * 4, at, weights + group * kWidth * 4);
      }
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const int64_t c = first + j * kLanes;
        typename Ops::Float value = Ops::toFloat(Ops::add(acc[j], Ops::loadInts(tile.offset + c)));
        value = Ops::addFloats(value, Ops::loadFloats(tile.bias + c));
        value = Ops::mulFloats(value, Ops::loadFloats(tile.multiplier + c));
        acc[j] = Ops::roundBelow(value, bound);
      }
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

template <class Ops> QFX_INLINE void runTile(const DepthwiseTile &tile) {
  tile.tapGroups == 3 ? runGroups<Ops, 3>(tile) : runGroups<Ops, 0>(tile);
}

} // namespace depthwise
} // namespace
