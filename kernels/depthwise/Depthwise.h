// Quantized depthwise convolution (groups = input channels, any multiple of output channels) on channels-last codes.
#ifndef KERNELS_DEPTHWISE_DEPTHWISE_H
#define KERNELS_DEPTHWISE_DEPTHWISE_H

#include "kernels/depthwise/DepthwisePack.h"
#include "kernels/requant/Requant.h"

namespace qfx::kernels {

/// One input size of packed depthwise weights; a unit of work is a few lines of output.
struct DepthwisePlan {
  PackedDepthwise weights;
  ConvSizes sizes;
  int64_t linesPerUnit = 1;

  /// Output lines: every (image, depth, height).
  int64_t lines() const { return sizes.batch * sizes.out[0] * sizes.out[1]; }
  int64_t units() const { return (lines() + linesPerUnit - 1) / linesPerUnit; }
};

DepthwisePlan planDepthwise(const PackedDepthwise &weights, const ConvSizes &sizes, int threads);

/// Bytes of scratch each thread must bring (64-byte aligned).
int64_t getDepthwiseScratchBytes(const DepthwisePlan &plan);

/// Runs units [begin, end).
/// \param srcZeroPoint  z_x, the code of padding.
/// \param src  u8 [batch, d, h, w, inChannels], pixels ldsElems apart.
/// \param dst  u8 [batch, d', h', w', outChannels], pixels lddElems apart; must not overlap src.
/// Exact for weight zero points too, which take the plain path.
void runDepthwise(const DepthwisePlan &plan, const RequantParams &params, int32_t srcZeroPoint, const uint8_t *src,
                  int64_t ldsElems, uint8_t *dst, int64_t lddElems, void *scratch, int64_t begin, int64_t end);

} // namespace qfx::kernels

#endif // KERNELS_DEPTHWISE_DEPTHWISE_H
