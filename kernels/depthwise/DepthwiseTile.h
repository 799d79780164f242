// What a depthwise microkernel is asked to do: a run of output pixels whose taps advance in step.
#ifndef KERNELS_DEPTHWISE_DEPTHWISETILE_H
#define KERNELS_DEPTHWISE_DEPTHWISETILE_H

#include <cstdint>

namespace qfx::kernels {

/// One call of a microkernel.  Channels are cut into blocks of the kernel's width; the last block may read that far
/// behind the last channel of every tap.
struct DepthwiseTile {
  const uint8_t *const *taps; ///< [tapGroups * tapGroup] pointers to channel 0 of each tap of the first pixel
  int64_t tapGroups;
  const int8_t *weights;      ///< packed, DepthwisePack.h
  bool below128;              ///< every code of the taps is below 128 (a hint, as in GemmTile)
  int64_t channels;
  int64_t pixels;
  int64_t srcStep;            ///< bytes from a pixel's tap to the next pixel's
  uint8_t *dst;               ///< [pixels, channels], dstStep apart
  int64_t dstStep;
  const int32_t *offset;      ///< RequantParams' tables in the kernel's channel order (DepthwisePack.h)
  const float *bias;
  const float *multiplier;
  int32_t zeroPoint, low, high;
};

using DepthwiseFunction = void (*)(const DepthwiseTile &tile);

/// \returns whether every one of `rows` rows of `width` codes is below 128.
using Below128Function = bool (*)(const uint8_t *a, int64_t rows, int64_t width, int64_t ldaElems);

#define QFX_DEPTHWISE(Isa, name, ...) void name(const DepthwiseTile &tile);
#include "kernels/depthwise/DepthwiseKernels.def"

#if defined(__x86_64__)
bool below128_avx2(const uint8_t *a, int64_t rows, int64_t width, int64_t ldaElems);
#endif

} // namespace qfx::kernels

#endif // KERNELS_DEPTHWISE_DEPTHWISETILE_H
