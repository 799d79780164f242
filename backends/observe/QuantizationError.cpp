// The error of quantizing a histogram's range with a given number of levels (numerics 3.8, `qerr`).
#include "backends/observe/HistogramMathDetail.h"

#include "kernels/histogram/Histogram.h"

#include <cmath>

namespace qfx {

/// Integral of x^2 over [begin, end].
static float normOf(float begin, float end) { return (end * end * end - begin * begin * begin) / 3; }

namespace {
/// torch.div(a, b, rounding_mode='floor') in float32, b >= 0.
float divideFloor(float a, float b) {
  if (b == 0 || (std::isinf(a / b) && std::isfinite(a)))
    return a / b;
  float mod = std::fmod(a, b);
  float quotient = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0))
    quotient -= 1;
  if (quotient == 0)
    return std::copysign(0.0f, a / b);
  float floored = std::floor(quotient);
  return quotient - floored > 0.5f ? floored + 1 : floored;
}

/// The kernel's errorNorms for quotients of any size.
void computeNorms(const kernels::LevelGrid &grid, const float *density, float *norm, int32_t bins) {
  const float inner = normOf(-grid.halfLevel, grid.halfLevel);
  auto levelOf = [&](float position) {
    float level = divideFloor(position, grid.levelWidth);
    level = level < 0 ? 0 : level;
    return level > grid.lastLevel ? grid.lastLevel : level;
  };
  for (int32_t i = 0; i < bins; ++i) {
    float begin = static_cast<float>(i - grid.start) * grid.binWidth, end = begin + grid.binWidth;
    float beginLevel = levelOf(begin), endLevel = levelOf(end);
    float beginCenter = (beginLevel + 0.5f) * grid.levelWidth;
    float endCenter = endLevel * grid.levelWidth + grid.halfLevel;
    float first = density[i] * normOf(begin - beginCenter, grid.halfLevel);
    float middle = (endLevel - beginLevel - 1) * (density[i] * inner);
    float last = density[i] * normOf(-grid.halfLevel, end - endCenter);
    norm[i] = (first + middle) + last;
  }
}
} // namespace

QuantizationError::QuantizationError(llvm::ArrayRef<float> histogram, float low, float high, double numLevels)
    : histogram(histogram),
      binWidth((static_cast<double>(high) - static_cast<double>(low)) / static_cast<double>(histogram.size())),
      numLevels(numLevels), density(histogram.size()), norm(histogram.size()) {
  for (size_t i = 0; i < histogram.size(); ++i)
    density[i] = histogram[i] / static_cast<float>(binWidth);
}

double QuantizationError::compute(int64_t start, int64_t end) {
  double levelWidth = binWidth * static_cast<double>(end - start + 1) / numLevels;
  if (levelWidth == 0)
    return 0;
  auto bins = static_cast<int32_t>(histogram.size());
  kernels::LevelGrid grid{static_cast<float>(binWidth), static_cast<float>(levelWidth), static_cast<float>(levelWidth / 2),
                          static_cast<float>(numLevels - 1), static_cast<int32_t>(start)};
  // Largest quotient: all bins in units of one level, with room for rounding.
  double largest = (bins + 1.0) * grid.binWidth / grid.levelWidth, farthest = (bins + 1.0) * binWidth;
  constexpr double kExactQuotients = 1 << 22;
  if (bins < kExactQuotients && largest < kExactQuotients / 2 && farthest < 1e38)
    kernels::selectHistogram().errorNorms(grid, density.data(), norm.data(), bins);
  else
    computeNorms(grid, density.data(), norm.data(), bins);
  return sumLikeTorch(norm);
}

} // namespace qfx
