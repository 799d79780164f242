// Float to codes and back, per tensor and per channel.
#ifndef KERNELS_QUANTIZE_QUANTIZE_H
#define KERNELS_QUANTIZE_QUANTIZE_H

#include "kernels/isa/Isa.h"
#include "kernels/quantize/QParams.h"

#include <cstdint>

namespace qfx::kernels {

/// Row functions of one instruction set.  All work on n >= 0 consecutive elements, src and dst must not overlap, and an
/// element's result does not depend on its position or on the instruction set.
///
/// quantize:   q = clamp(RNE(f32(x * f32(1 / f32(scale)))) + zeroPoint, lo, hi) over the code type's whole range;
///             infinities saturate, NaN gives lo; any scale is accepted.
/// dequantize: x = f32(f32(scale) * f32(q - zeroPoint)).
/// Channels:   the same with element i using scale[i] and zeroPoint[i] (channel innermost).
/// Source: PyTorch ATen/native/quantized/AffineQuantizerBase.cpp; operators.md 3.1, 3.2, numerics.md 1.4, 1.8.
struct QuantizeKernels {
  void (*quantizeU8)(const float *src, uint8_t *dst, int64_t n, const QParams &params);
  void (*quantizeS8)(const float *src, int8_t *dst, int64_t n, const QParams &params);
  void (*dequantizeU8)(const uint8_t *src, float *dst, int64_t n, const QParams &params);
  void (*dequantizeS8)(const int8_t *src, float *dst, int64_t n, const QParams &params);
  void (*quantizeChannelsU8)(const float *src, uint8_t *dst, int64_t n, const float *scale, const int32_t *zeroPoint);
  void (*quantizeChannelsS8)(const float *src, int8_t *dst, int64_t n, const float *scale, const int32_t *zeroPoint);
};

/// \returns the rows for `isa`; ask once and keep the reference.
const QuantizeKernels &selectQuantize(Isa isa = getCurrentIsa());

/// quint8/qint8's rule for qint32: the zero point is added in f32, f32(f32(zeroPoint) + RNE(x * inv)), then saturated.
void quantizeS32(const float *src, int32_t *dst, int64_t n, const QParams &params);

/// x = f32(f32(scale) * f32(q - zeroPoint)) with the difference taken exactly and rounded once to f32.
void dequantizeS32(const int32_t *src, float *dst, int64_t n, const QParams &params);

/// Quantizes src [outer, channels, inner] (dense) with channel c's scale[c], zeroPoint[c].  T is uint8_t, int8_t,
/// int32_t. The axis is the logical channel: a caller whose tensor is stored channels-last passes inner = 1.
template <class T>
void quantizePerChannel(const float *src, T *dst, int64_t outer, int64_t channels, int64_t inner, const double *scale,
                        const int32_t *zeroPoint);

/// x = f32(double(f32(q) - f32(zeroPoint[c])) * scale[c]) with the unrounded double scale (numerics.md 1.5).
template <class T>
void dequantizePerChannel(const T *src, float *dst, int64_t outer, int64_t channels, int64_t inner, const double *scale,
                          const int32_t *zeroPoint);

} // namespace qfx::kernels

#endif // KERNELS_QUANTIZE_QUANTIZE_H
