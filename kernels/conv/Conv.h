// Quantized convolution on channels-last codes: 1-d, 2-d, 3-d, any stride, padding, dilation and groups.
//
// Usage: packConv once per weight; prepareRequant (with PackedConv::weightSum) once per set of scales; planConv once
// per input size; then runConv over units [0, plan.units()), split over threads in any way without changing a bit.
// Depthwise convolutions go to kernels/depthwise, all others become GEMMs of im2col rows (1x1: of the pixels in place).
#ifndef KERNELS_CONV_CONV_H
#define KERNELS_CONV_CONV_H

#include "kernels/conv/ConvShape.h"
#include "kernels/depthwise/Depthwise.h"
#include "kernels/gemm/Gemm.h"
#include "kernels/gemm/GemmBlocking.h"

namespace qfx::kernels {

/// The table rows a convolution runs on.  Without a depthwise row every convolution becomes GEMMs.
struct ConvKernels {
  const GemmKernel *gemm = nullptr;
  const DepthwiseKernel *depthwise = nullptr;
};

/// The rows to use under `isa`.  Ask once, when a graph is prepared.
inline ConvKernels selectConv(Isa isa) { return {&selectGemm(isa), &selectDepthwise(isa)}; }

/// Packed weights; the arrays lie in the memory given to packConv.
struct PackedConv {
  ConvShape shape;
  const GemmKernel *gemm = nullptr; ///< null for a depthwise convolution
  PackedDepthwise depthwise;
  const void *memory = nullptr;
  int64_t groupBytes = 0;
  const int32_t *weightSum = nullptr; ///< s32 [outChannels], for prepareRequant

  PackedGemm group(int64_t g) const {
    return viewPackedGemm(*gemm, shape.groupOutChannels(), shape.reduction(),
                          static_cast<const char *>(memory) + g * groupBytes);
  }
};

/// Bytes that packConv writes (64-byte aligned memory).
int64_t getPackedConvBytes(const ConvShape &shape, const ConvKernels &kernels);

/// Packs for `kernels`.
/// \param weight  s8 [outChannels, inChannels / groups, kernel d, h, w], row-major.
PackedConv packConv(const ConvShape &shape, const ConvKernels &kernels, const int8_t *weight, void *memory);

/// One input size of a packed convolution, cut into units of work.
struct ConvPlan {
  PackedConv weights;
  ConvSizes sizes;
  GemmBlocking blocking = {};
  DepthwisePlan depthwise;

  int64_t units() const;
};

/// \param in  depth, height and width of the input (1 for missing axes); every output size must be positive unless
///            the batch is 0 (asserted: the caller reports the user's error).
ConvPlan planConv(const PackedConv &weights, int64_t batch, const int64_t (&in)[3], int threads);

/// Bytes of scratch each thread must bring (64-byte aligned).
int64_t getConvScratchBytes(const ConvPlan &plan);

/// Runs units [begin, end).
/// \param srcZeroPoint  z_x, the code of padding.
/// \param src  u8 [batch, d, h, w, inChannels], pixels ldsElems apart.
/// \param dst  u8 (or f32, TileOutput::Float) [batch, d', h', w', outChannels], pixels lddElems apart; must not overlap
///             src.  Depthwise convolutions know only TileOutput::Code.
void runConv(const ConvPlan &plan, const RequantParams &params, TileOutput output, int32_t srcZeroPoint,
             const uint8_t *src, int64_t ldsElems, void *dst, int64_t lddElems, void *scratch, int64_t begin,
             int64_t end);

} // namespace qfx::kernels

#endif // KERNELS_CONV_CONV_H
