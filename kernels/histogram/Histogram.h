// The inner loops of observers: smallest and largest value, and counts in equal bins.
#ifndef KERNELS_HISTOGRAM_HISTOGRAM_H
#define KERNELS_HISTOGRAM_HISTOGRAM_H

#include "kernels/isa/Isa.h"

#include <cstdint>

namespace qfx::kernels {

struct MinMax {
  float min = __builtin_inff(), max = -__builtin_inff();

  /// The range of both parts; a NaN on either side stays.
  void merge(MinMax other) {
    min = other.min != other.min || other.min < min ? other.min : min;
    max = other.max != other.max || other.max > max ? other.max : max;
  }
};

/// Bins of a histogram that a grid of quantization levels is laid over; positions count from bin `start`'s left edge.
struct LevelGrid {
  float binWidth, levelWidth, halfLevel, lastLevel; // widths > 0, halfLevel = levelWidth / 2, lastLevel = levels - 1
  int32_t start;
};

/// Rows of one instruction set; results do not depend on it.
struct HistogramKernels {
  /// Smallest and largest of n values; NaN anywhere makes both NaN (torch.aminmax); n = 0 gives (+inf, -inf); a zero
  /// comes out as +0.
  MinMax (*minMax)(const float *src, int64_t n);

  /// Lane-wise: mins[c] = smaller(mins[c], src[r][c]), maxs alike, over `rows` rows of `channels` values whose starts
  /// are `rowStride` apart.  NaN sticks to its channel.  mins and maxs are read and written: start them at +-inf.
  void (*minMaxChannels)(const float *src, int64_t rows, int64_t channels, int64_t rowStride, float *mins, float *maxs);

  /// Adds to counts[4][stride] the number of values in each bin, in four sub-histograms: a value of element index i may
  /// land in any of them.  Bin of x in [lo, hi]: int(f32(f32(f32(x - lo) * bins) / f32(hi - lo))), the last bin closed
  /// (numerics.md 3.7); other values and NaN go to the extra bin `numBins`.  stride >= numBins + 1.
  void (*countBins)(const float *src, int64_t n, float lo, float hi, int32_t numBins, uint32_t *counts, int64_t stride);

  /// The same for bins that do not depend on the data: bin of x is floor(x * inverseWidth) - first, where inverseWidth is
  /// a power of two, so that cells of one width are pairs of cells of half of it.  |first|, |first + numBins| < 2^23;
  /// values elsewhere and NaN go to the extra bin.
  void (*countGrid)(const float *src, int64_t n, float inverseWidth, int32_t first, int32_t numBins, uint32_t *counts,
                    int64_t stride);

  /// norm[i] = density[i] times the integral over bin i of the squared distance to the nearest level (numerics.md 3.8
  /// `qerr`, in its order of float32 operations; levels as torch.div with rounding_mode='floor' gives them).
  /// \param bins  < 2^22, as must be every |position| / levelWidth, so that quotients are exact integers
  void (*errorNorms)(const LevelGrid &grid, const float *density, float *norm, int32_t bins);
};

/// \returns the rows for `isa`; ask once and keep the reference.
const HistogramKernels &selectHistogram(Isa isa = getCurrentIsa());

/// u32 elements that addHistogram needs as scratch.
int64_t getHistogramScratchSize(int32_t numBins);

/// histc of numerics.md 3.7 added to an observer's histogram: histogram[b] = f32(histogram[b] + f32(count[b])).
/// \param src        f32 [n], n < 2^32; values outside [lo, hi] and NaN are left out.
/// \param lo,hi      finite, lo < hi, f32(hi - lo) finite (the caller widens equal bounds and reports the rest).
/// \param histogram  f32 [numBins], read and written.
/// \param scratch    u32 [getHistogramScratchSize(numBins)], contents do not matter before and after.
void addHistogram(const HistogramKernels &kernels, const float *src, int64_t n, float lo, float hi, int32_t numBins,
                  float *histogram, uint32_t *scratch);

/// countGrid added to counts of any length: histogram[b] += count[b].
/// \param scratch  u32 [getHistogramScratchSize(numBins)], contents do not matter before and after.
void addGridCounts(const HistogramKernels &kernels, const float *src, int64_t n, float inverseWidth, int32_t first,
                   int32_t numBins, int64_t *histogram, uint32_t *scratch);

} // namespace qfx::kernels

#endif // KERNELS_HISTOGRAM_HISTOGRAM_H

