// Taps as PyTorch's CPU kernels compute them, and the sums over them.
#include "kernels/resample/Resample.h"

#include <algorithm>
#include <cmath>

namespace qfx::kernels {

namespace {

double cubicNear(double x, double a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
double cubicFar(double x, double a) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }

double filter(ResampleMode mode, double x, double a) {
  x = std::fabs(x);
  if (mode == ResampleMode::Linear)
    return x < 1 ? 1 - x : 0;
  return x < 1 ? cubicNear(x, a) : x < 2 ? cubicFar(x, a) : 0;
}

void push(ResampleTaps &taps, int64_t index, double weight, int64_t size) {
  taps.index.push_back(std::clamp<int64_t>(index, 0, size - 1));
  taps.weight.push_back(static_cast<float>(weight));
}

ResampleTaps makeNearest(bool exact, int64_t inSize, int64_t outSize, double scale) {
  ResampleTaps taps;
  taps.width = 1;
  for (int64_t o = 0; o < outSize; ++o) {
    float at = exact ? (static_cast<float>(o) + 0.5f) * static_cast<float>(scale)
                     : static_cast<float>(o) * static_cast<float>(scale);
    push(taps, static_cast<int64_t>(std::floor(at)), 1, inSize);
  }
  return taps;
}

ResampleTaps makeAntialiased(ResampleMode mode, int64_t inSize, int64_t outSize, double scale) {
  ResampleTaps taps;
  double widen = std::max(scale, 1.0), support = (mode == ResampleMode::Linear ? 1 : 2) * widen;
  taps.width = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  for (int64_t o = 0; o < outSize; ++o) {
    double center = scale * (static_cast<double>(o) + 0.5);
    int64_t first = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    int64_t last = std::min<int64_t>(static_cast<int64_t>(center + support + 0.5), inSize);
    std::vector<double> weights;
    double sum = 0;
    for (int64_t i = first; i < last; ++i) {
      weights.push_back(filter(mode, (static_cast<double>(i) - center + 0.5) / widen, -0.5));
      sum += weights.back();
    }
    for (int64_t k = 0; k < taps.width; ++k) {
      bool inside = k < static_cast<int64_t>(weights.size());
      push(taps, first + k, inside ? weights[static_cast<size_t>(k)] / sum : 0, inSize);
    }
  }
  return taps;
}

} // namespace

ResampleTaps makeResampleTaps(ResampleMode mode, int64_t inSize, int64_t outSize, double scale, bool alignCorners,
                              bool antialias) {
  if (mode == ResampleMode::Nearest || mode == ResampleMode::NearestExact)
    return makeNearest(mode == ResampleMode::NearestExact, inSize, outSize, scale);
  if (alignCorners)
    scale = outSize > 1 ? static_cast<double>(inSize - 1) / static_cast<double>(outSize - 1) : 0;
  if (antialias)
    return makeAntialiased(mode, inSize, outSize, scale);
  ResampleTaps taps;
  taps.width = mode == ResampleMode::Linear ? 2 : 4;
  for (int64_t o = 0; o < outSize; ++o) {
    double at = alignCorners ? scale * static_cast<double>(o) : scale * (static_cast<double>(o) + 0.5) - 0.5;
    if (mode == ResampleMode::Linear) {
      at = std::max(at, 0.0);
      int64_t first = std::min<int64_t>(static_cast<int64_t>(at), inSize - 1);
      double rest = std::clamp(at - static_cast<double>(first), 0.0, 1.0);
      push(taps, first, 1 - rest, inSize);
      push(taps, first + 1, rest, inSize);
      continue;
    }
    double first = std::floor(at), rest = at - first;
    for (int64_t k = -1; k <= 2; ++k)
      push(taps, static_cast<int64_t>(first) + k, filter(mode, static_cast<double>(k) - rest, -0.75), inSize);
  }
  return taps;
}

void resample(const ResampleTaps &taps, const float *src, int64_t inSize, float *dst, int64_t outSize, int64_t inner,
              int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row)
    for (int64_t o = 0; o < outSize; ++o) {
      float *to = dst + (row * outSize + o) * inner;
      const int64_t *index = taps.index.data() + o * taps.width;
      const float *weight = taps.weight.data() + o * taps.width;
      const float *from = src + row * inSize * inner;
      for (int64_t i = 0; i < inner; ++i)
        to[i] = from[index[0] * inner + i] * weight[0];
      for (int64_t k = 1; k < taps.width; ++k)
        for (int64_t i = 0; i < inner; ++i)
          to[i] = to[i] + from[index[k] * inner + i] * weight[k];
    }
}

} // namespace qfx::kernels
