// The error of quantizing a histogram's range with a given number of levels (numerics 3.8, `qerr`).
#include "backends/observe/HistogramMathDetail.h"

#include <cmath>

namespace qfx {

/// Integral of x^2 over [begin, end].
static float normOf(float begin, float end) { return (end * end * end - begin * begin * begin) / 3; }

namespace {
/// torch.div(a, b, rounding_mode='floor') in float32, b >= 0.
struct ExactFloorDivide {
  static float apply(float a, float b) {
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
};

/// The same for finite a when |a / b| < 2^28: the double quotient of two floats then has the exact integer part, so the remainder is exact in double
/// and the loop vectorizes.  The sign of a zero result is not kept; the caller clips at 0.
struct SmallFloorDivide {
  static float apply(float a, float b) {
    double trunc = static_cast<double>(static_cast<int32_t>(static_cast<double>(a) / static_cast<double>(b)));
    float mod = static_cast<float>(static_cast<double>(a) - trunc * static_cast<double>(b));
    float quotient = (a - mod) / b;
    quotient = mod < 0 ? quotient - 1 : quotient;
    float floored = static_cast<float>(static_cast<int32_t>(quotient));
    floored = floored > quotient ? floored - 1 : floored;
    return quotient - floored > 0.5f ? floored + 1 : floored;
  }
};

struct ErrorTerms {
  float binWidth, levelWidth, halfLevel, lastLevel;
  int64_t start;
};

template <class FloorDivide>
void computeNorms(const ErrorTerms &terms, const float *density, float *norm, int64_t bins) {
  const float inner = normOf(-terms.halfLevel, terms.halfLevel);
  const int32_t count = static_cast<int32_t>(bins), start = static_cast<int32_t>(terms.start);
  const ErrorTerms t = terms;
  auto levelOf = [&](float position) {
    float level = FloorDivide::apply(position, t.levelWidth);
    level = level < 0 ? 0 : level;
    return level > t.lastLevel ? t.lastLevel : level;
  };
  for (int32_t i = 0; i < count; ++i) {
    float begin = static_cast<float>(i - start) * t.binWidth, end = begin + t.binWidth;
    float beginLevel = levelOf(begin), endLevel = levelOf(end);
    float beginCenter = (beginLevel + 0.5f) * t.levelWidth;
    float endCenter = endLevel * t.levelWidth + t.halfLevel;
    float first = density[i] * normOf(begin - beginCenter, t.halfLevel);
    float middle = (endLevel - beginLevel - 1) * (density[i] * inner);
    float last = density[i] * normOf(-t.halfLevel, end - endCenter);
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
  ErrorTerms terms{static_cast<float>(binWidth), static_cast<float>(levelWidth), static_cast<float>(levelWidth / 2),
                   static_cast<float>(numLevels - 1), start};
  int64_t bins = static_cast<int64_t>(histogram.size());
  // Largest quotient: all bins in units of one level, with room for rounding.
  double largest = (static_cast<double>(bins) + 1) * terms.binWidth / terms.levelWidth;
  const double farthest = (static_cast<double>(bins) + 1) * binWidth;
  if (largest < 268435456.0 / 2 && farthest < 1e38)
    computeNorms<SmallFloorDivide>(terms, density.data(), norm.data(), bins);
  else
    computeNorms<ExactFloorDivide>(terms, density.data(), norm.data(), bins);
  return sumLikeTorch(norm);
}

} // namespace qfx
