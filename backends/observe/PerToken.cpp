// Scale and zero point of each token.
#include "backends/observe/PerToken.h"

#include "ir/Diagnostics.h"
#include "kernels/histogram/Histogram.h"

#include <algorithm>
#include <cmath>

namespace qfx {

/// Smallest and largest value of each token.
static llvm::Expected<std::vector<kernels::MinMax>> findTokenRanges(const Tensor &input) {
  if (input.getDType() != DType::Float32 || input.getRank() == 0 || input.getSizes().back() == 0)
    return error({}, "parameters per token need a float32 tensor with a last dimension, got {0}", toString(input.getType()))
        .code("per_token_shape");
  const int64_t size = input.getSizes().back();
  const kernels::HistogramKernels &kernels = kernels::selectHistogram();
  std::vector<kernels::MinMax> ranges;
  for (const float *token = input.getData<float>().begin(); token != input.getData<float>().end(); token += size)
    ranges.push_back(kernels.minMax(token, size));
  return ranges;
}

static llvm::SmallVector<int64_t, 4> getTokenSizes(const Tensor &input) {
  llvm::SmallVector<int64_t, 4> sizes(input.getSizes().begin(), input.getSizes().end());
  sizes.back() = 1;
  return sizes;
}

llvm::Expected<TokenQParams> chooseQParamsPerTokenAsymmetric(const Tensor &input) {
  llvm::Expected<std::vector<kernels::MinMax>> ranges = findTokenRanges(input);
  if (!ranges)
    return ranges.takeError();
  constexpr float kLowest = -128, kHighest = 127;
  std::vector<double> scales;
  std::vector<int64_t> zeroPoints;
  for (const kernels::MinMax &range : *ranges) {
    const float negative = std::min(range.min, 0.0f), positive = std::max(range.max, 0.0f);
    const float scale = std::max((positive - negative) / (kHighest - kLowest), 1.1920928955078125e-07f);
    const float below = negative / scale, above = positive / scale;
    const float zeroPoint = (kLowest + below) + (kHighest + above) > 0 ? kLowest - below : kHighest - above;
    scales.push_back(static_cast<double>(scale));
    zeroPoints.push_back(static_cast<int64_t>(std::nearbyint(std::clamp(zeroPoint, kLowest, kHighest))));
  }
  return TokenQParams{Tensor::of<double>(DType::Float64, getTokenSizes(input), scales),
                      Tensor::of<int64_t>(DType::Int64, getTokenSizes(input), zeroPoints)};
}

llvm::Expected<TokenQParams> chooseQParamsPerToken(const Tensor &input) {
  llvm::Expected<std::vector<kernels::MinMax>> ranges = findTokenRanges(input);
  if (!ranges)
    return ranges.takeError();
  std::vector<float> scales, zeroPoints(ranges->size(), 0.0f);
  for (const kernels::MinMax &range : *ranges)
    scales.push_back(std::max(std::max(std::fabs(range.min), std::fabs(range.max)), 1e-5f) / 127.0f);
  return TokenQParams{Tensor::of<float>(DType::Float32, getTokenSizes(input), scales),
                      Tensor::of<float>(DType::Float32, getTokenSizes(input), zeroPoints)};
}

} // namespace qfx
