// The range whose quantized distribution loses least information (Kullback-Leibler).
#include "backends/observe/CalculateQParamsDetail.h"
#include "backends/observe/GridHistogramDetail.h"
#include "backends/observe/ObserverRowsDetail.h"
#include "ir/Module.h"

#include <cmath>
#include <numeric>

namespace qfx {

/// Divergence of the distribution clipped to the first `size` cells (what lies beyond counts to the last one that is not empty) from the
/// same cells, without what lies beyond, averaged over `levels` groups of neighbours.
static double computeDivergence(llvm::ArrayRef<int64_t> counts, size_t size, size_t levels) {
  const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t(0));
  const int64_t inside = std::accumulate(counts.begin(), counts.begin() + static_cast<ptrdiff_t>(size), int64_t(0));
  if (!inside)
    return INFINITY;
  size_t last = size - 1;
  while (!counts[last])
    --last;
  double divergence = 0;
  for (size_t group = 0; group < levels; ++group) {
    const size_t begin = group * size / levels, end = (group + 1) * size / levels;
    int64_t sum = 0, occupied = 0;
    for (size_t i = begin; i < end; ++i) {
      sum += counts[i];
      occupied += counts[i] != 0;
    }
    for (size_t i = begin; i < end; ++i) {
      if (!counts[i])
        continue;
      const int64_t seen = counts[i] + (i == last ? total - inside : 0);
      const double p = static_cast<double>(seen) / static_cast<double>(total);
      const double q = static_cast<double>(sum) / static_cast<double>(occupied) / static_cast<double>(inside);
      divergence += p * std::log(p / q);
    }
  }
  return divergence;
}

/// Candidates are the magnitudes of `levels` cells up to all; the largest of those with the least divergence wins.  `levels`: codes for
/// one side of zero, all of them where the data has one side only and the scheme is affine.
llvm::Expected<QParams> calculateFromEntropy(const Module &observer) {
  if (!hasMinMax(observer))
    return calculateFromMinMax(observer);
  GridHistogram histogram = readGridHistogram(observer).includingZero();
  ObserverSettings settings = readObserverSettings(observer);
  const bool hasOneSide = !isSymmetric(settings.scheme) && (histogram.min >= 0 || histogram.max <= 0);
  const size_t codes = static_cast<size_t>(settings.quantMax - settings.quantMin + 1);
  const size_t levels = hasOneSide ? codes : codes / 2;
  std::vector<int64_t> folded = histogram.foldAroundZero();
  size_t best = folded.size();
  double least = INFINITY;
  for (size_t size = folded.size(); size > levels; --size) {
    double divergence = computeDivergence(folded, size, levels);
    if (divergence < least * (1 - 1e-12)) { // equal but for the order of additions: the wider one stays
      least = divergence;
      best = size;
    }
  }
  const double reach = static_cast<double>(best) * histogram.getWidth();
  return calculateFromClippedRange(observer, histogram, -reach, reach);
}

} // namespace qfx
