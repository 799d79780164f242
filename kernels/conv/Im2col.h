// Gathers the taps of a block of output pixels into GEMM rows.
#ifndef KERNELS_CONV_IM2COL_H
#define KERNELS_CONV_IM2COL_H

#include "kernels/conv/ConvShape.h"

namespace qfx::kernels {

/// Writes rows [begin, end) of the im2col matrix of one group: row = output pixel (batch, d, h, w), columns = taps
/// (d, h, w) times the group's input channels, then zeros up to rowBytes.
/// \param src       u8 codes of the group's first channel, pixels ldsElems apart, channels next to each other.
/// \param padCode   code of taps outside the input (the input's zero point).
/// \param dst       u8 [end - begin, rowBytes].
void im2col(const ConvShape &shape, const ConvSizes &sizes, const uint8_t *src, int64_t ldsElems, uint8_t padCode,
            int64_t begin, int64_t end, uint8_t *dst, int64_t rowBytes);

} // namespace qfx::kernels

#endif // KERNELS_CONV_IM2COL_H
