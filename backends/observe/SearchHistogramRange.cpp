// Narrowing a histogram's range while the quantization error falls (numerics 3.8).
#include "backends/observe/HistogramMathDetail.h"

#include <algorithm>
#include <cmath>

namespace qfx {

std::pair<float, float> searchHistogramRange(llvm::ArrayRef<float> histogram, float low, float high, double numLevels) {
  const int64_t bins = static_cast<int64_t>(histogram.size());
  const float binWidth = (high - low) / static_cast<float>(bins);
  const double total = sumLikeTorch(histogram);
  std::vector<float> cumulative;
  double running = 0;
  for (float count : histogram)
    cumulative.push_back(static_cast<float>(running += count));

  constexpr double kStep = 1e-5;
  QuantizationError error(histogram, low, high, numLevels);
  double alpha = 0, beta = 1, best = INFINITY;
  int64_t start = 0, end = bins - 1;
  // The quantile bounds only ever move inwards, so left and right go on from where they were instead of from start and end:
  // what was passed before would be passed again.
  int64_t left = 0, right = bins - 1;
  while (alpha < beta) {
    const double nextAlpha = alpha + kStep, nextBeta = beta - kStep;
    const float lowCount = static_cast<float>(nextAlpha * total), highCount = static_cast<float>(nextBeta * total);
    left = std::min(std::max(left, start), end);
    right = std::max(std::min(right, end), start);
    while (left < end && cumulative[static_cast<size_t>(left)] < lowCount)
      ++left;
    while (right > start && cumulative[static_cast<size_t>(right)] > highCount)
      --right;
    int64_t nextStart = start, nextEnd = end;
    if (left - start > end - right) {
      nextStart = left;
      alpha = nextAlpha;
    } else {
      nextEnd = right;
      beta = nextBeta;
    }
    if (nextStart == start && nextEnd == end)
      continue;
    double current = error.compute(nextStart, nextEnd);
    if (current > best)
      break;
    best = current;
    start = nextStart;
    end = nextEnd;
  }
  return {low + binWidth * static_cast<float>(start), low + binWidth * static_cast<float>(end + 1)};
}

} // namespace qfx
