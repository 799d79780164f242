// The range that holds a given share of all values.
#include "backends/observe/CalculateQParamsDetail.h"
#include "backends/observe/GridHistogramDetail.h"
#include "backends/observe/ObserverRowsDetail.h"
#include "ir/Diagnostics.h"
#include "ir/Module.h"

#include <cmath>

namespace qfx {

llvm::Error constructPercentile(Module &observer) {
  double percentile = observer.getAttribute("percentile").getNumber();
  if (!(percentile > 0 && percentile <= 100))
    return error(observer.getLoc(), "'PercentileObserver' needs a percentile above 0 and at most 100, got {0}", percentile)
        .code("observer_percentile");
  return constructGrid(observer);
}

/// Cells at the end of `counts` whose values together are at most `cut`.
static size_t countCutCells(llvm::ArrayRef<int64_t> counts, double cut) {
  int64_t sum = 0;
  size_t cells = 0;
  while (cells < counts.size() && static_cast<double>(sum += counts[counts.size() - 1 - cells]) <= cut)
    ++cells;
  return cells;
}

/// Symmetric: at most (100 - p) % of all values, the largest magnitudes, are clipped.  Affine: at most half of that on either side.
llvm::Expected<QParams> calculateFromPercentile(const Module &observer) {
  if (!hasMinMax(observer))
    return calculateFromMinMax(observer);
  GridHistogram histogram = readGridHistogram(observer);
  const double share = (100 - observer.getAttribute("percentile").getNumber()) / 100;
  const double total = static_cast<double>(histogram.getTotal());
  if (isSymmetric(readObserverSettings(observer).scheme)) {
    GridHistogram wide = histogram.includingZero();
    std::vector<int64_t> folded = wide.foldAroundZero();
    double reach = static_cast<double>(folded.size() - countCutCells(folded, share * total)) * wide.getWidth();
    return calculateFromClippedRange(observer, histogram, -reach, reach);
  }
  const double cut = share / 2 * total;
  std::vector<int64_t> reversed(histogram.counts.rbegin(), histogram.counts.rend());
  double low = histogram.getBorder(countCutCells(reversed, cut));
  double high = histogram.getBorder(histogram.counts.size() - countCutCells(histogram.counts, cut));
  return calculateFromClippedRange(observer, histogram, low, high);
}

} // namespace qfx
