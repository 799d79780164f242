// Packs depthwise weights, and puts per-channel tables into the order the microkernels keep channels in.
//
// With tapGroup 4, byte unpacking inside 128-bit lanes leaves channel 16 l + 4 j + e of a block in vector j, lane l,
// element e; packing the results undoes it.  Weights stand as [block][tap group][j][l][e][4 taps].  With tapGroup 1
// channels keep their order: [block][tap][channel].  Taps are padded to whole groups, channels to whole blocks, with
// zero weights.
#ifndef KERNELS_DEPTHWISE_DEPTHWISEPACK_H
#define KERNELS_DEPTHWISE_DEPTHWISEPACK_H

#include "kernels/conv/ConvShape.h"
#include "kernels/depthwise/DepthwiseKernel.h"

namespace qfx::kernels {

/// Packed weights; the arrays lie in the memory given to packDepthwise.
struct PackedDepthwise {
  ConvShape shape;
  const DepthwiseKernel *kernel = nullptr;
  const int8_t *weights = nullptr;
  const int32_t *weightSum = nullptr; ///< s32 [outChannels], sum over the taps

  int64_t tapGroups() const { return (shape.taps() + kernel->tapGroup - 1) / kernel->tapGroup; }
  /// Output channels rounded up to whole blocks.
  int64_t paddedChannels() const { return (shape.outChannels + kernel->width - 1) / kernel->width * kernel->width; }
};

/// Bytes that packDepthwise writes (64-byte aligned memory).
int64_t getPackedDepthwiseBytes(const ConvShape &shape, const DepthwiseKernel &kernel);

/// \param weight  s8 [outChannels, 1, kernel d, h, w], row-major.
PackedDepthwise packDepthwise(const ConvShape &shape, const DepthwiseKernel &kernel, const int8_t *weight,
                              void *memory);

/// The weight of output channel `c` and tap `t`, read back from the packed weights.
int8_t getDepthwiseWeight(const PackedDepthwise &packed, int64_t c, int64_t t);

/// Where channel `c` of a block stands in the kernel's order.
inline int64_t depthwisePosition(const DepthwiseKernel &kernel, int64_t c) {
  if (kernel.tapGroup == 1)
    return c;
  int64_t lane = c / 16, vector = c % 16 / 4, element = c % 4;
  return vector * (kernel.width / 4) + lane * 4 + element;
}

} // namespace qfx::kernels

#endif // KERNELS_DEPTHWISE_DEPTHWISEPACK_H
