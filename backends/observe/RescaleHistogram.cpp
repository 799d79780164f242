// Moving a histogram's counts into a wider range (numerics 3.7).
#include "backends/observe/HistogramMathDetail.h"

#include <algorithm>
#include <cmath>

namespace qfx {

std::vector<float> linspaceLikeTorch(float low, float high, int64_t count) {
  std::vector<float> points(static_cast<size_t>(count));
  const float step = (high - low) / static_cast<float>(count - 1);
  // PyTorch's kernel is compiled with contraction: each point is one fused multiply-add.
  for (int64_t i = 0; i < count; ++i)
    points[static_cast<size_t>(i)] = i < count / 2 ? std::fma(step, static_cast<float>(i), low)
                                                   : std::fma(-step, static_cast<float>(count - 1 - i), high);
  return points;
}

namespace {
/// The bin of each query: upper_bound - 1, clipped.  Queries come in nearly ascending order, so a finger walks along;
/// boundaries closer than float32 resolves may not be sorted, then ATen's own bisection decides.
class BinFinder {
public:
  explicit BinFinder(const std::vector<float> &boundaries)
      : boundaries(boundaries), isSorted(std::is_sorted(boundaries.begin(), boundaries.end())) {}

  size_t find(float value) {
    size_t upper = isSorted ? walk(value) : bisect(value);
    size_t bins = boundaries.size() - 1;
    return std::min(upper ? upper - 1 : 0, bins - 1);
  }

private:
  size_t walk(float value) {
    while (finger < boundaries.size() && !(boundaries[finger] > value))
      ++finger;
    while (finger > 0 && boundaries[finger - 1] > value)
      --finger;
    return finger;
  }

  size_t bisect(float value) const {
    size_t start = 0, end = boundaries.size();
    while (start < end) {
      size_t middle = start + (end - start) / 2;
      if (!(boundaries[middle] > value))
        start = middle + 1;
      else
        end = middle;
    }
    return start;
  }

  const std::vector<float> &boundaries;
  bool isSorted;
  size_t finger = 0;
};
} // namespace

std::vector<float> rescaleHistogram(llvm::ArrayRef<float> histogram, float oldLow, float oldHigh, float newLow,
                                    float newHigh) {
  constexpr int64_t kUpsampleRate = 16;
  const int64_t bins = static_cast<int64_t>(histogram.size()), fine = bins * kUpsampleRate;
  std::vector<float> starts = linspaceLikeTorch(oldLow, oldHigh, fine + 1);
  std::vector<float> boundaries = linspaceLikeTorch(newLow, newHigh, bins + 1);
  const float halfWidth = 0.5f * ((oldHigh - oldLow) / static_cast<float>(fine));
  BinFinder finder(boundaries);
  std::vector<float> result(histogram.size(), 0.0f);
  for (int64_t j = 0; j < fine; ++j) {
    float weight = histogram[static_cast<size_t>(j / kUpsampleRate)] / static_cast<float>(kUpsampleRate);
    result[finder.find(starts[static_cast<size_t>(j)] + halfWidth)] += weight;
  }
  return result;
}

} // namespace qfx
