// The range with the least squared error of quantization.
#include "backends/observe/CalculateQParamsDetail.h"
#include "backends/observe/GridHistogramDetail.h"
#include "backends/observe/ObserverRowsDetail.h"
#include "ir/Module.h"

#include <algorithm>
#include <cmath>

namespace qfx {

/// Sum over all values of the squared distance between the middle of their cell and its code's value, in double.
static double computeSquaredError(const GridHistogram &histogram, const QParams &qparams) {
  const double scale = static_cast<double>(qparams.scales[0]), zeroPoint = static_cast<double>(qparams.zeroPoints[0]);
  const double low = static_cast<double>(*qparams.quantMin), high = static_cast<double>(*qparams.quantMax);
  double error = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    if (!histogram.counts[i])
      continue;
    const double middle = std::clamp((histogram.getBorder(i) + histogram.getBorder(i + 1)) / 2, static_cast<double>(histogram.min),
                                     static_cast<double>(histogram.max));
    const double code = std::clamp(std::nearbyint(middle / scale) + zeroPoint, low, high);
    const double distance = (code - zeroPoint) * scale - middle;
    error += static_cast<double>(histogram.counts[i]) * distance * distance;
  }
  return error;
}

/// Candidates are the range seen, shrunk toward zero to 100, 99, ..., 1 percent; the widest of those with the least error wins.
llvm::Expected<QParams> calculateFromSquaredError(const Module &observer) {
  if (!hasMinMax(observer))
    return calculateFromMinMax(observer);
  GridHistogram histogram = readGridHistogram(observer);
  std::optional<QParams> best;
  double least = INFINITY;
  for (int percent = 100; percent >= 1; --percent) {
    const double factor = percent / 100.0;
    llvm::Expected<QParams> qparams = calculateFromClippedRange(observer, histogram, static_cast<double>(histogram.min) * factor,
                                                                static_cast<double>(histogram.max) * factor);
    if (!qparams)
      return qparams.takeError();
    double error = computeSquaredError(histogram, *qparams);
    if (!best || error < least * (1 - 1e-12)) { // equal but for the order of additions: the wider one stays
      least = error;
      best = std::move(*qparams);
    }
  }
  return *std::move(best);
}

} // namespace qfx
