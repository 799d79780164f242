// Counts in cells of a power of two, whose borders do not depend on the data; private to observe/.
#ifndef BACKENDS_OBSERVE_GRIDHISTOGRAMDETAIL_H
#define BACKENDS_OBSERVE_GRIDHISTOGRAMDETAIL_H

#include "backends/observe/Observer.h"

namespace qfx {

/// Cell i holds the values with floor(x / 2^exponent) == firstCell + i.  The exponent is the least for which the range seen fits into
/// the cells, so the state depends on what was seen and not on its order, and two histograms add up exactly.
struct GridHistogram {
  float min = 0, max = 0; ///< of all finite values
  int64_t firstCell = 0;  ///< floor(min / 2^exponent)
  int64_t exponent = 0;
  std::vector<int64_t> counts;

  double getWidth() const;
  /// Left border of cell `i`.
  double getBorder(size_t i) const;
  int64_t getTotal() const;

  /// A copy with cells wide enough for zero to be among them.
  GridHistogram includingZero() const;

  /// Counts of |x| of a histogram that includes zero: cell i of the result is [i, i + 1) cells from 0; as long as the farthest cell seen.
  std::vector<int64_t> foldAroundZero() const;

  /// Moves the counts to the cells of the range [newMin, newMax], which contains the present one.
  void widen(float newMin, float newMax);
};

/// Reads the buffers of an observer that has seen data.
GridHistogram readGridHistogram(const Module &observer);
void writeGridHistogram(Module &observer, const GridHistogram &histogram);

/// Do the buffers of an observer that has seen data, of the right dtypes and shapes, describe such a histogram (`observer_state`)?
llvm::Error checkGridHistogram(const Module &observer, const std::string &path);

/// numerics 2.4 on the range [low, high], clipped to what was seen and to contain zero.
llvm::Expected<QParams> calculateFromClippedRange(const Module &observer, const GridHistogram &histogram, double low, double high);

} // namespace qfx

#endif // BACKENDS_OBSERVE_GRIDHISTOGRAMDETAIL_H
