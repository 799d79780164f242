// A running histogram whose range grows with the data (numerics 3.7).
#include "backends/observe/BuffersDetail.h"
#include "backends/observe/CalculateQParamsDetail.h"
#include "backends/observe/HistogramMathDetail.h"
#include "backends/observe/ObserverRowsDetail.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "ir/Text.h"
#include "kernels/histogram/Histogram.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace qfx {

llvm::Error constructHistogram(Module &observer) {
  ObserverSettings settings = readObserverSettings(observer);
  if (isPerChannel(settings.scheme))
    return error(observer.getLoc(), "'HistogramObserver' needs a per-tensor qscheme, got '{0}'", getQSchemeName(settings.scheme))
        .code("observer_qscheme");
  if (settings.isDynamic)
    return error(observer.getLoc(), "'HistogramObserver' cannot be dynamic").code("observer_dynamic");
  if (settings.dtype == DType::Float8E5M2 || settings.dtype == DType::Float8E4M3FN)
    return error(observer.getLoc(), "'HistogramObserver' needs an integer dtype, got '{0}'", getDTypeInfo(settings.dtype).torchName)
        .code("observer_dtype");
  constexpr int64_t kMaxBins = 1 << 24; // counts of bins must be exact in float32
  if (settings.bins < 1 || settings.bins > kMaxBins)
    return error(observer.getLoc(), "'HistogramObserver' needs 1 to 16777216 bins, got {0}", std::to_string(settings.bins))
        .code("observer_bins");
  if (llvm::Error err = checkUniformSettings(observer, settings))
    return err;
  setVector(observer, "eps", static_cast<float>(*settings.eps));
  setVector(observer, "histogram", std::vector<float>(static_cast<size_t>(settings.bins), 0.0f));
  setScalar(observer, "min_val", INFINITY);
  setScalar(observer, "max_val", -INFINITY);
  return llvm::Error::success();
}

/// histc where (value - low) * bins is beyond float32: x86 converts what overflows to an integer whose address, as PyTorch computes it,
/// is that of bin 0.  A width that overflows itself has no borders to lie between: nothing is counted.
static void addOverflowingHistc(llvm::ArrayRef<float> values, float low, float high, std::vector<float> &histogram) {
  const float width = high - low, bins = static_cast<float>(histogram.size());
  if (std::isinf(width))
    return;
  for (float value : values) {
    if (!(value >= low && value <= high))
      continue;
    const float position = (value - low) * bins / width;
    const size_t bin = std::isinf(position) ? 0 : static_cast<size_t>(position);
    histogram[std::min(bin, histogram.size() - 1)] += 1;
  }
}

/// torch.histc(values, bins, low, high) added to `histogram`.  Equal bounds, which only constant data has, are in the middle of the bins: PyTorch
/// widens by 1 on both sides.
static llvm::Error addHistc(const Module &observer, llvm::ArrayRef<float> values, float low, float high,
                            std::vector<float> &histogram) {
  if (!std::isfinite(low) || !std::isfinite(high))
    return error(observer.getLoc(), "a histogram needs a finite range, got {0}..{1}", formatFloat(low), formatFloat(high))
        .code("observer_range");
  if (low == high) {
    histogram[histogram.size() / 2] += static_cast<float>(values.size());
    return llvm::Error::success();
  }
  const int32_t bins = static_cast<int32_t>(histogram.size());
  if (!std::isfinite((high - low) * static_cast<float>(bins))) {
    addOverflowingHistc(values, low, high, histogram);
    return llvm::Error::success();
  }
  std::vector<uint32_t> scratch(static_cast<size_t>(kernels::getHistogramScratchSize(bins)));
  kernels::addHistogram(kernels::selectHistogram(), values.data(), static_cast<int64_t>(values.size()), low, high, bins,
                        histogram.data(), scratch.data());
  return llvm::Error::success();
}

/// The old counts seen in the range [low, high], onto which the new batch's counts are then added.
static llvm::Expected<std::vector<float>> moveCounts(const Module &observer, float low, float high) {
  llvm::ArrayRef<float> old = getFloats(observer, "histogram");
  float oldLow = getFirst(observer, "min_val"), oldHigh = getFirst(observer, "max_val");
  if (low == oldLow && high == oldHigh)
    return old.vec();
  if (oldLow != oldHigh)
    return rescaleHistogram(old, oldLow, oldHigh, low, high);
  std::vector<float> moved(old.size(), 0.0f);
  if (llvm::Error err = addHistc(observer, oldLow, low, high, moved))
    return err;
  float total = sumLikeTorch(old);
  for (float &count : moved)
    count *= total;
  return moved;
}

llvm::Error observeHistogram(Module &observer, const ObservedTensor &input) {
  if (input.getNumElements() == 0)
    return llvm::Error::success();
  llvm::ArrayRef<float> values(input.getData(), static_cast<size_t>(input.getNumElements()));
  kernels::MinMax range = input.getRange();
  std::vector<float> finite;
  if (range.min == -INFINITY || range.max == INFINITY) {
    llvm::copy_if(values, std::back_inserter(finite), [](float value) { return !std::isinf(value); });
    if (finite.empty())
      return llvm::Error::success();
    values = finite;
    range = kernels::selectHistogram().minMax(values.data(), static_cast<int64_t>(values.size()));
  }
  const float oldLow = getFirst(observer, "min_val"), oldHigh = getFirst(observer, "max_val");
  const size_t bins = getFloats(observer, "histogram").size();
  std::vector<float> counts(bins, 0.0f);
  if (oldLow != INFINITY && oldHigh != -INFINITY) {
    range.min = std::isnan(range.min) || range.min < oldLow ? range.min : oldLow;
    range.max = std::isnan(range.max) || range.max > oldHigh ? range.max : oldHigh;
    // The batch is counted alone and then added: one rounding per bin, as upstream.
    if (llvm::Error err = addHistc(observer, values, range.min, range.max, counts))
      return err;
    llvm::Expected<std::vector<float>> moved = moveCounts(observer, range.min, range.max);
    if (!moved)
      return moved.takeError();
    for (size_t i = 0; i < bins; ++i)
      counts[i] = (*moved)[i] + counts[i];
  } else if (llvm::Error err = addHistc(observer, values, range.min, range.max, counts)) {
    return err;
  }
  setVector(observer, "histogram", counts);
  setScalar(observer, "min_val", range.min);
  setScalar(observer, "max_val", range.max);
  return llvm::Error::success();
}

llvm::Error mergeHistogram(Module &observer, const Module &other) {
  const float low = std::min(getFirst(observer, "min_val"), getFirst(other, "min_val"));
  const float high = std::max(getFirst(observer, "max_val"), getFirst(other, "max_val"));
  llvm::Expected<std::vector<float>> counts = moveCounts(observer, low, high);
  if (!counts)
    return counts.takeError();
  llvm::Expected<std::vector<float>> added = moveCounts(other, low, high);
  if (!added)
    return added.takeError();
  for (auto [count, more] : llvm::zip(*counts, *added))
    count += more;
  setVector(observer, "histogram", *counts);
  setScalar(observer, "min_val", low);
  setScalar(observer, "max_val", high);
  return llvm::Error::success();
}

llvm::Expected<QParams> calculateFromHistogram(const Module &observer) {
  ObserverSettings settings = readObserverSettings(observer);
  float low = getFirst(observer, "min_val"), high = getFirst(observer, "max_val"), eps = getFirst(observer, "eps");
  if (low == INFINITY && high == -INFINITY)
    return calculateFromRange(observer.getLoc(), settings, eps, low, high);
  llvm::ArrayRef<float> histogram = getFloats(observer, "histogram");
  if (static_cast<int64_t>(histogram.size()) != settings.bins)
    return error(observer.getLoc(), "'HistogramObserver' has {0} bins but a histogram of {1}", std::to_string(settings.bins),
                 std::to_string(histogram.size()))
        .code("observer_bins");
  // iinfo counts storage bits: 8 for quint4x2 too.
  double numLevels = std::ldexp(1.0, static_cast<int>(getDTypeInfo(toUnderlyingDType(settings.dtype)).bits));
  std::tie(low, high) = searchHistogramRange(histogram, low, high, numLevels);
  return calculateFromRange(observer.getLoc(), settings, eps, low, high);
}

} // namespace qfx
