// Values of an image or volume at fractional places.
#ifndef KERNELS_RESAMPLE_GRIDSAMPLE_H
#define KERNELS_RESAMPLE_GRIDSAMPLE_H

#include <cstdint>

namespace qfx::kernels {

enum class GridMode : uint8_t { Linear, Nearest, Cubic };
enum class GridPadding : uint8_t { Zeros, Border, Reflection };

struct GridSampleParams {
  GridMode mode = GridMode::Linear;
  GridPadding padding = GridPadding::Zeros;
  bool alignCorners = false; ///< -1 and 1 are the centres of the outer elements, else their outer edges
  int axes = 2;              ///< 2 or 3; Cubic: 2
  int64_t sizes[3] = {};     ///< of the source, outermost axis first, > 0
};

/// Computes output places [begin, end) of batch * places.
/// \param src   f32 [batch, channels, sizes...], row-major.
/// \param grid  f32 [batch, places, axes], innermost axis first (x, y, z), in [-1, 1]; NaN counts as -1.
/// \param dst   f32 [batch, channels, places]; must not overlap.
/// Nearest rounds half to even.  Source: ATen/native/GridSampler.h (grid_sampler_compute_source_index, cubic with a = -0.75).
void gridSample(const GridSampleParams &params, int64_t channels, int64_t places, const float *src, const float *grid,
                float *dst, int64_t begin, int64_t end);

} // namespace qfx::kernels

#endif // KERNELS_RESAMPLE_GRIDSAMPLE_H
