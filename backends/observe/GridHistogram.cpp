// The histogram of the percentile, entropy and MSE observers.
#include "backends/observe/GridHistogramDetail.h"

#include "backends/observe/BuffersDetail.h"
#include "backends/observe/CalculateQParamsDetail.h"
#include "backends/observe/ObserverRowsDetail.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "kernels/histogram/Histogram.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace qfx {

/// Positions of at most 2^23 cells are exact in float32; a float's own exponent ends at -126.
static constexpr int kLargestPosition = 22, kLeastExponent = -126;

static int64_t findCell(float value, int64_t exponent) {
  return static_cast<int64_t>(std::floor(std::ldexp(static_cast<double>(value), static_cast<int>(-exponent))));
}

static int64_t chooseExponent(float min, float max, size_t numCells) {
  const float largest = std::max(std::fabs(min), std::fabs(max));
  int64_t exponent = std::max(largest > 0 ? std::ilogb(largest) - kLargestPosition : kLeastExponent, kLeastExponent);
  while (findCell(max, exponent) - findCell(min, exponent) >= static_cast<int64_t>(numCells))
    ++exponent;
  return exponent;
}

double GridHistogram::getWidth() const { return std::ldexp(1.0, static_cast<int>(exponent)); }
double GridHistogram::getBorder(size_t i) const { return static_cast<double>(firstCell + static_cast<int64_t>(i)) * getWidth(); }
int64_t GridHistogram::getTotal() const { return std::accumulate(counts.begin(), counts.end(), int64_t(0)); }

GridHistogram GridHistogram::includingZero() const {
  GridHistogram wide = *this;
  wide.widen(std::min(min, 0.0f), std::max(max, 0.0f));
  return wide;
}

std::vector<int64_t> GridHistogram::foldAroundZero() const {
  std::vector<int64_t> folded;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (!counts[i])
      continue;
    int64_t cell = firstCell + static_cast<int64_t>(i);
    size_t distance = static_cast<size_t>(cell >= 0 ? cell : -1 - cell);
    if (folded.size() <= distance)
      folded.resize(distance + 1, 0);
    folded[distance] += counts[i];
  }
  return folded;
}

void GridHistogram::widen(float newMin, float newMax) {
  const int64_t newExponent = chooseExponent(newMin, newMax, counts.size()), newFirst = findCell(newMin, newExponent);
  const int64_t shift = std::min<int64_t>(newExponent - exponent, 62);
  std::vector<int64_t> moved(counts.size(), 0);
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i])
      moved[static_cast<size_t>(((firstCell + static_cast<int64_t>(i)) >> shift) - newFirst)] += counts[i];
  counts = std::move(moved);
  min = newMin;
  max = newMax;
  exponent = newExponent;
  firstCell = newFirst;
}

GridHistogram readGridHistogram(const Module &observer) {
  GridHistogram histogram;
  histogram.min = getFirst(observer, "min_val");
  histogram.max = getFirst(observer, "max_val");
  histogram.firstCell = observer.getTensor("first_cell").getData<int64_t>().front();
  histogram.exponent = observer.getTensor("cell_exponent").getData<int64_t>().front();
  histogram.counts = observer.getTensor("histogram").getData<int64_t>().vec();
  return histogram;
}

void writeGridHistogram(Module &observer, const GridHistogram &histogram) {
  int64_t size = static_cast<int64_t>(histogram.counts.size());
  observer.setBuffer("histogram", Tensor::of<int64_t>(DType::Int64, size, histogram.counts));
  setScalar(observer, "min_val", histogram.min);
  setScalar(observer, "max_val", histogram.max);
  observer.setBuffer("first_cell", Tensor::of<int64_t>(DType::Int64, {}, histogram.firstCell));
  observer.setBuffer("cell_exponent", Tensor::of<int64_t>(DType::Int64, {}, histogram.exponent));
}

llvm::Error checkGridHistogram(const Module &observer, const std::string &path) {
  const GridHistogram histogram = readGridHistogram(observer);
  const int64_t exponent = chooseExponent(histogram.min, histogram.max, histogram.counts.size());
  if (histogram.exponent == exponent && histogram.firstCell == findCell(histogram.min, exponent))
    return llvm::Error::success();
  return error(observer.getLoc(), "state of '{0}': cells of 2^{1} from {2} on, expected cells of 2^{3} from {4} on for values from {5} to {6}", path,
               histogram.exponent, histogram.firstCell, exponent, findCell(histogram.min, exponent), histogram.min, histogram.max)
      .code("observer_state");
}

llvm::Error constructGrid(Module &observer) {
  if (llvm::Error err = constructMinMax(observer))
    return err;
  ObserverSettings settings = readObserverSettings(observer);
  constexpr int64_t kMaxBins = 1 << 20;
  if (settings.bins < 2 || settings.bins > kMaxBins)
    return error(observer.getLoc(), "'{0}' needs 2 to {1} bins, got {2}", observer.getClass()->getBaseName(), kMaxBins, settings.bins)
        .code("observer_bins");
  GridHistogram empty;
  empty.min = INFINITY;
  empty.max = -INFINITY;
  empty.counts.assign(static_cast<size_t>(settings.bins), 0);
  writeGridHistogram(observer, empty);
  return llvm::Error::success();
}

llvm::Error observeGrid(Module &observer, const ObservedTensor &input) {
  llvm::ArrayRef<float> values(input.getData(), static_cast<size_t>(input.getNumElements()));
  kernels::MinMax range = input.getRange();
  std::vector<float> finite;
  if (!std::isfinite(range.min) || !std::isfinite(range.max)) {
    llvm::copy_if(values, std::back_inserter(finite), [](float value) { return std::isfinite(value); });
    values = finite;
    range = kernels::selectHistogram().minMax(values.data(), static_cast<int64_t>(values.size()));
  }
  if (values.empty())
    return llvm::Error::success();
  GridHistogram histogram = readGridHistogram(observer);
  histogram.widen(std::min(histogram.min, range.min), std::max(histogram.max, range.max));
  const int32_t numCells = static_cast<int32_t>(histogram.counts.size());
  std::vector<uint32_t> scratch(static_cast<size_t>(kernels::getHistogramScratchSize(numCells)));
  kernels::addGridCounts(kernels::selectHistogram(), values.data(), static_cast<int64_t>(values.size()),
                         static_cast<float>(1 / histogram.getWidth()), static_cast<int32_t>(histogram.firstCell), numCells,
                         histogram.counts.data(), scratch.data());
  writeGridHistogram(observer, histogram);
  return llvm::Error::success();
}

llvm::Error mergeGrid(Module &observer, const Module &other) {
  GridHistogram histogram = readGridHistogram(observer), added = readGridHistogram(other);
  const float low = std::min(histogram.min, added.min), high = std::max(histogram.max, added.max);
  histogram.widen(low, high);
  added.widen(low, high);
  for (auto [count, more] : llvm::zip(histogram.counts, added.counts))
    count += more;
  writeGridHistogram(observer, histogram);
  return llvm::Error::success();
}

llvm::Expected<QParams> calculateFromClippedRange(const Module &observer, const GridHistogram &histogram, double low, double high) {
  // Codes always reach zero, so a range on one side of it may as well start there.
  float clippedLow = std::min(std::max(static_cast<float>(low), histogram.min), 0.0f);
  float clippedHigh = std::max(std::min(static_cast<float>(high), histogram.max), 0.0f);
  return calculateFromRange(observer.getLoc(), readObserverSettings(observer), getFirst(observer, "eps"), clippedLow, clippedHigh);
}

} // namespace qfx
