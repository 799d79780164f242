// Selects observer loops and sums sub-histograms.
#include "kernels/histogram/HistogramDetail.h"
#include "kernels/simd/Select.h"

#include <algorithm>

namespace qfx::kernels {

static constexpr IsaRow<HistogramKernels> kRows[] = {
#define QFX_HISTOGRAM_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/histogram/HistogramKernels.def"
};

const HistogramKernels &selectHistogram(Isa isa) { return selectLast(kRows, isa); }

/// The extra bin, plus a line so that equal bins of two sub-histograms do not share cache sets.
static int64_t getStride(int32_t numBins) { return static_cast<int64_t>(numBins) + 1 + 16; }

int64_t getHistogramScratchSize(int32_t numBins) { return 4 * getStride(numBins); }

void addHistogram(const HistogramKernels &kernels, const float *src, int64_t n, float lo, float hi, int32_t numBins,
                  float *histogram, uint32_t *scratch) {
  const int64_t stride = getStride(numBins);
  std::fill_n(scratch, 4 * stride, 0u);
  kernels.countBins(src, n, lo, hi, numBins, scratch, stride);
  for (int32_t b = 0; b < numBins; ++b) {
    uint32_t count = scratch[b] + scratch[b + stride] + scratch[b + 2 * stride] + scratch[b + 3 * stride];
    histogram[b] += static_cast<float>(count);
  }
}

void addGridCounts(const HistogramKernels &kernels, const float *src, int64_t n, float inverseWidth, int32_t first,
                   int32_t numBins, int64_t *histogram, uint32_t *scratch) {
  const int64_t stride = getStride(numBins);
  std::fill_n(scratch, 4 * stride, 0u);
  kernels.countGrid(src, n, inverseWidth, first, numBins, scratch, stride);
  for (int32_t b = 0; b < numBins; ++b)
    for (int64_t s = 0; s < 4; ++s)
      histogram[b] += scratch[b + s * stride];
}

} // namespace qfx::kernels
