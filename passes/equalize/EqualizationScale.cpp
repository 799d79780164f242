// Scales, weights and ranges, in the order of PyTorch's operations.
#include "passes/equalize/EqualizationScale.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace qfx {

static float getMin(float old, float now) { return std::isnan(old) || old < now ? old : now; }
static float getMax(float old, float now) { return std::isnan(old) || old > now ? old : now; }

/// Calls visit(index of the element, input channel) for every element of a weight.
template <class Visit> static void forEachColumnElement(const Tensor &weight, int64_t groups, Visit visit) {
  const int64_t rows = weight.getSizes()[0], columns = weight.getSizes()[1];
  const int64_t inner = weight.getNumElements() / (rows * columns);
  int64_t index = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = row / (rows / groups) * columns;
    for (int64_t column = 0; column < columns; ++column)
      for (int64_t i = 0; i < inner; ++i, ++index)
        visit(static_cast<size_t>(index), static_cast<size_t>(first + column));
  }
}

ColumnRanges findWeightColumns(const Tensor &weight, int64_t groups) {
  ColumnRanges ranges;
  const auto count = static_cast<size_t>(weight.getSizes()[1] * groups);
  ranges.mins.assign(count, INFINITY);
  ranges.maxs.assign(count, -INFINITY);
  llvm::ArrayRef<float> values = weight.getData<float>();
  forEachColumnElement(weight, groups, [&](size_t i, size_t channel) {
    ranges.mins[channel] = getMin(ranges.mins[channel], values[i]);
    ranges.maxs[channel] = getMax(ranges.maxs[channel], values[i]);
  });
  return ranges;
}

std::vector<float> calculateEqualizationScale(const ColumnRanges &input, const ColumnRanges &weight) {
  assert(input.mins.size() == weight.mins.size() && "one column of the input for each of the weight");
  std::vector<float> scale(input.mins.size());
  for (size_t c = 0; c < scale.size(); ++c) {
    const float weightRange = weight.maxs[c] - weight.mins[c], inputRange = input.maxs[c] - input.mins[c];
    scale[c] = std::sqrt(weightRange / inputRange);
    if (!std::isfinite(scale[c]) || scale[c] == 0)
      scale[c] = 1;
  }
  return scale;
}

Tensor divideColumns(const Tensor &weight, llvm::ArrayRef<float> scale, int64_t groups) {
  assert(static_cast<int64_t>(scale.size()) == weight.getSizes()[1] * groups && "one scale per input channel");
  std::vector<float> values = weight.getData<float>().vec();
  forEachColumnElement(weight, groups, [&](size_t i, size_t channel) { values[i] *= 1.0f / scale[channel]; });
  return Tensor::of<float>(DType::Float32, weight.getSizes(), values);
}

Tensor multiplyRows(const Tensor &tensor, llvm::ArrayRef<float> scale) {
  assert(static_cast<int64_t>(scale.size()) == tensor.getSizes()[0] && "one scale per row");
  std::vector<float> values = tensor.getData<float>().vec();
  const size_t inner = values.size() / scale.size();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] *= scale[i / inner];
  return Tensor::of<float>(DType::Float32, tensor.getSizes(), values);
}

std::pair<float, float> getScaledRange(const ColumnRanges &input, llvm::ArrayRef<float> scale) {
  float low = INFINITY, high = -INFINITY;
  for (auto [min, max, factor] : llvm::zip(input.mins, input.maxs, scale)) {
    low = getMin(low, min * factor);
    high = getMax(high, max * factor);
  }
  return {low, high};
}

} // namespace qfx
