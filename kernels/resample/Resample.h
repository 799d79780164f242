// Resizing along one axis: every result is a weighted sum of a few neighbours.
#ifndef KERNELS_RESAMPLE_RESAMPLE_H
#define KERNELS_RESAMPLE_RESAMPLE_H

#include <cstdint>
#include <vector>

namespace qfx::kernels {

enum class ResampleMode : uint8_t { Nearest, NearestExact, Linear, Cubic };

/// Taps of each result along an axis: `width` indices (clamped to the axis) and weights.
struct ResampleTaps {
  int64_t width = 0;
  std::vector<int64_t> index;
  std::vector<float> weight;
};

/// \param inSize, outSize  > 0.
/// \param scale            inputs per output: inSize/outSize, or 1/scale_factor where the caller was given one.
/// \param alignCorners     Linear and Cubic: first and last elements map onto each other.
/// \param antialias        Linear and Cubic when shrinking: the filter is widened by the scale and its weights sum to 1.
/// Source: ATen UpSample.h (area_pixel_compute_source_index, cubic with a = -0.75; -0.5 with antialias, as Pillow).
ResampleTaps makeResampleTaps(ResampleMode mode, int64_t inSize, int64_t outSize, double scale, bool alignCorners,
                              bool antialias);

/// src f32 [outer, inSize, inner] -> dst f32 [outer, outSize, inner], outer rows [begin, end); sums run in tap order.
void resample(const ResampleTaps &taps, const float *src, int64_t inSize, float *dst, int64_t outSize, int64_t inner,
              int64_t begin, int64_t end);

} // namespace qfx::kernels

#endif // KERNELS_RESAMPLE_RESAMPLE_H
