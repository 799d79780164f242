// Max and average pooling, adaptive pooling and means over positions, of floats and 8-bit codes.
#ifndef KERNELS_POOL_POOL_H
#define KERNELS_POOL_POOL_H

#include "kernels/isa/Isa.h"
#include "kernels/pool/PoolShape.h"
#include "kernels/quantize/QParams.h"

#include <cstdint>

namespace qfx::kernels {

/// The memory format of PyTorch's tensor, which decides the rounding rule; our storage is channels-innermost anyway.
/// A tensor contiguous in both senses (C = 1, or all spatial sizes 1) counts as ChannelsLast (operators.md 2.4).
enum class MemoryFormat : uint8_t { Contiguous, ChannelsLast };

/// One output pixel's taps: up to three nested strides (elements) from the first tap.
struct PoolCell {
  int64_t counts[3], strides[3];
};

/// From an exact integer sum of raw codes to the output code, every step one f32 rounding, the last two fused into one:
/// clamp(RNE(fma(f32(sum - correction) * scale / divisor, unscale, before)) + after).
struct PoolRounding {
  int32_t correction;
  float scale, divisor, unscale;
  float before;  // zero point added before rounding
  int32_t after; // zero point added after rounding
};

/// Cells of one instruction set: `channels` results from the cell at src, written densely to dst.
/// max: NaN wins (f32); a cell of no taps gives the type's lowest value (-inf).  avgF32: sums taps in order, then
/// divides.
struct PoolKernels {
  void (*maxF32)(const float *src, const PoolCell &cell, int64_t channels, float *dst);
  void (*maxU8)(const uint8_t *src, const PoolCell &cell, int64_t channels, uint8_t *dst);
  void (*maxS8)(const int8_t *src, const PoolCell &cell, int64_t channels, int8_t *dst);
  void (*avgF32)(const float *src, const PoolCell &cell, int64_t channels, float divisor, float *dst);
  void (*avgU8)(const uint8_t *src, const PoolCell &cell, int64_t channels, const PoolRounding &rounding, uint8_t *dst);
  void (*avgS8)(const int8_t *src, const PoolCell &cell, int64_t channels, const PoolRounding &rounding, int8_t *dst);
};

/// \returns the cells for `isa`; ask once and keep the reference.
const PoolKernels &selectPool(Isa isa = getCurrentIsa());

/// Max pooling of output pixels [begin, end) of shape.numOutputPixels(), in (n, d, h, w) order; padded positions never
/// win.  src and dst are element 0 of the whole tensors and must not overlap.  T is float, uint8_t or int8_t.
template <class T>
void maxPool(const PoolKernels &kernels, const PoolShape &shape, const T *src, T *dst, int64_t begin, int64_t end);

/// Average pooling of floats, adaptive or not: sum / divisor (operators.md 8.1, 24.4).
void avgPool(const PoolKernels &kernels, const PoolShape &shape, const float *src, float *dst, int64_t begin,
             int64_t end);

/// Average pooling of codes, adaptive or not; keeps the zero point.  `format` picks the rounding rule of operators.md 8.1
/// and 8.2, but adaptive pooling in ChannelsLast is PyTorch 2.13's, RNE(fma(sum - size * z, 1 / size, z)); 1.13 added the
/// zero point after rounding.  The rules differ at ties only.  PyTorch 2.13 uses ChannelsLast's for avg_pool3d in both
/// formats: a caller that wants its bits passes that.  The exact sum must fit int32: at most 8 million taps (asserted).
/// T is uint8_t or int8_t.
template <class T>
void avgPool(const PoolKernels &kernels, const PoolShape &shape, int32_t zeroPoint, MemoryFormat format, const T *src,
             T *dst, int64_t begin, int64_t end);

/// mean over all positions of an image (operators.md 8.5): src [rows, positions, channels] -> dst [rows, channels].
/// Contiguous: RNE(f32(sum) / f32(n)) on raw codes; ChannelsLast: dequantize, mean, quantize.  Keeps `params`.
template <class T>
void meanPositions(const PoolKernels &kernels, int64_t rows, int64_t positions, int64_t channels, const QParams &params,
                   MemoryFormat format, const T *src, T *dst);

} // namespace qfx::kernels

#endif // KERNELS_POOL_POOL_H
