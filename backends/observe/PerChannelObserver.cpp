// Running and averaged minimum and maximum of each channel (numerics 3.5, 3.6).
#include "backends/observe/PerChannelMinMaxDetail.h"

#include "backends/observe/BuffersDetail.h"
#include "backends/observe/ObserverRowsDetail.h"
#include "backends/observe/ObserverSettings.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "kernels/histogram/Histogram.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace qfx {

llvm::Error constructPerChannel(Module &observer) {
  ObserverSettings settings = readObserverSettings(observer);
  llvm::StringRef name = observer.getClass()->getBaseName();
  if (!isPerChannel(settings.scheme))
    return error(observer.getLoc(), "'{0}' needs a per-channel qscheme, got '{1}'", name, getQSchemeName(settings.scheme))
        .code("observer_qscheme");
  if (settings.isDynamic)
    return error(observer.getLoc(), "'{0}' cannot be dynamic", name).code("observer_dynamic");
  if (llvm::Error err = checkUniformSettings(observer, settings))
    return err;
  if (settings.scheme == QScheme::PerChannelSymmetric && settings.reduceRange && settings.dtype == DType::QUInt8)
    return error(observer.getLoc(), "'{0}' cannot reduce the range of symmetric quint8", name).code("observer_range");
  setVector(observer, "eps", static_cast<float>(*settings.eps));
  setVector(observer, "min_val", {});
  setVector(observer, "max_val", {});
  return llvm::Error::success();
}

ChannelLayout getChannelLayout(const ObservedTensor &input, int64_t axis) {
  size_t dim = static_cast<size_t>(axis);
  int64_t channels = input.sizes[dim];
  // A dimension of one element may have any stride; then all of the rest is inside or outside alike.
  int64_t inner = channels == 1 ? input.getNumElements() : input.strides[dim];
  return {input.getNumElements() / (channels * inner), channels, inner};
}

static void merge(ChannelMinMax &result, size_t channel, const kernels::MinMax &found) {
  kernels::MinMax channelRange{result.mins[channel], result.maxs[channel]};
  channelRange.merge(found);
  result.mins[channel] = channelRange.min;
  result.maxs[channel] = channelRange.max;
}

static void reduceDense(const ObservedTensor &input, const ChannelLayout &layout, ChannelMinMax &result) {
  const kernels::HistogramKernels &kernels = kernels::selectHistogram();
  if (layout.inner == 1)
    return kernels.minMaxChannels(input.getData(), layout.outer, layout.channels, layout.channels, result.mins.data(), result.maxs.data());
  input.visit([&](int64_t first, llvm::ArrayRef<float> values) {
    const auto count = static_cast<int64_t>(values.size());
    for (int64_t i = 0; i < count;) {
      int64_t row = (first + i) / layout.inner, stop = std::min((row + 1) * layout.inner - first, count);
      merge(result, static_cast<size_t>(row % layout.channels), kernels.minMax(values.data() + i, stop - i));
      i = stop;
    }
  });
}

llvm::Expected<ChannelMinMax> findChannelMinMax(const Module &observer, const ObservedTensor &input, int64_t axis) {
  int64_t rank = static_cast<int64_t>(input.sizes.size());
  if (axis < -rank || axis >= rank)
    return error(observer.getLoc(), "an observer's ch_axis {0} is outside a tensor of rank {1}", std::to_string(axis),
                 std::to_string(rank))
        .code("observer_axis");
  ChannelLayout layout = getChannelLayout(input, axis < 0 ? axis + rank : axis);
  ChannelMinMax result;
  result.mins.assign(static_cast<size_t>(layout.channels), INFINITY);
  result.maxs.assign(static_cast<size_t>(layout.channels), -INFINITY);
  reduceDense(input, layout, result);
  kernels::MinMax range;
  for (size_t c = 0; c < result.mins.size(); ++c)
    range.merge({result.mins[c], result.maxs[c]});
  input.range = range;
  return result;
}

/// Merges with the stored vectors by `merge(stored, current)`; the first batch is stored as it is.
template <class MergeMin, class MergeMax>
static llvm::Error update(Module &observer, const ObservedTensor &input, MergeMin mergeMin, MergeMax mergeMax) {
  if (input.getNumElements() == 0)
    return llvm::Error::success();
  llvm::Expected<ChannelMinMax> current = findChannelMinMax(observer, input, readObserverSettings(observer).axis);
  if (!current)
    return current.takeError();
  llvm::ArrayRef<float> low = getFloats(observer, "min_val"), high = getFloats(observer, "max_val");
  if (!low.empty() && !high.empty()) {
    if (low.size() != current->mins.size() || high.size() != current->maxs.size())
      return error(observer.getLoc(), "an observer of {0} channels got a tensor with {1}", std::to_string(low.size()),
                   std::to_string(current->mins.size()))
          .code("observer_channels");
    for (size_t c = 0; c < low.size(); ++c) {
      current->mins[c] = mergeMin(low[c], current->mins[c]);
      current->maxs[c] = mergeMax(high[c], current->maxs[c]);
    }
  }
  setVector(observer, "min_val", current->mins);
  setVector(observer, "max_val", current->maxs);
  return llvm::Error::success();
}

llvm::Error observePerChannel(Module &observer, const ObservedTensor &input) {
  return update(
      observer, input, [](float old, float now) { return std::isnan(now) || now < old ? now : old; },
      [](float old, float now) { return std::isnan(now) || now > old ? now : old; });
}

llvm::Error observeMovingAveragePerChannel(Module &observer, const ObservedTensor &input) {
  const float constant = static_cast<float>(readObserverSettings(observer).averagingConstant);
  auto average = [=](float old, float now) { return old + constant * (now - old); };
  return update(observer, input, average, average);
}

} // namespace qfx
