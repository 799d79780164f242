// Each point has a few neighbours with weights per axis; a result is the weighted sum over all of them.
#include "kernels/resample/GridSample.h"

#include <algorithm>
#include <cmath>

namespace qfx::kernels {

namespace {

/// Up to four neighbours along an axis.
struct Taps {
  int count = 0;
  int64_t index[4];
  float weight[4];
};

float toPixel(float x, int64_t size, bool alignCorners) {
  const float n = static_cast<float>(size);
  return alignCorners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
}

/// Bounces off the edges: centres with alignCorners, else outer edges.
float reflect(float x, int64_t size, bool alignCorners) {
  const float twiceLow = alignCorners ? 0 : -1, twiceHigh = static_cast<float>(alignCorners ? 2 * (size - 1) : 2 * size - 1);
  if (twiceLow == twiceHigh)
    return 0;
  const float low = twiceLow / 2, span = (twiceHigh - twiceLow) / 2;
  const float distance = std::fabs(x - low), extra = std::fmod(distance, span);
  const auto flips = static_cast<int64_t>(std::floor(distance / span));
  return flips % 2 == 0 ? extra + low : span - extra + low;
}

float clip(float x, int64_t size) { return std::min(static_cast<float>(size - 1), std::max(x, 0.0f)); }

float pad(float x, int64_t size, const GridSampleParams &params) {
  if (params.padding == GridPadding::Border)
    return clip(x, size);
  if (params.padding == GridPadding::Reflection)
    return clip(reflect(x, size, params.alignCorners), size);
  return x;
}

/// Places beyond the integers become one far outside.
float makeFinite(float x) { return x > static_cast<float>(INT32_MAX - 1) || x < static_cast<float>(INT32_MIN) || !std::isfinite(x) ? -100.0f : x; }

void cubicWeights(float t, float *weight) {
  const float a = -0.75f;
  auto near = [&](float x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  auto far = [&](float x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  weight[0] = far(t + 1);
  weight[1] = near(t);
  weight[2] = near(1 - t);
  weight[3] = far(2 - t);
}

Taps makeTaps(float x, int64_t size, const GridSampleParams &params) {
  Taps taps;
  float at = toPixel(x, size, params.alignCorners);
  auto add = [&](int64_t index, float weight) {
    if (index < 0 || index >= size)
      return;
    taps.index[taps.count] = index;
    taps.weight[taps.count++] = weight;
  };
  if (params.mode == GridMode::Cubic) {
    at = makeFinite(at);
    const float first = std::floor(at);
    float weight[4];
    cubicWeights(at - first, weight);
    for (int k = 0; k < 4; ++k) // each neighbour is padded by itself
      add(static_cast<int64_t>(makeFinite(pad(first - 1 + static_cast<float>(k), size, params))), weight[k]);
    return taps;
  }
  at = makeFinite(pad(at, size, params));
  if (params.mode == GridMode::Nearest) {
    add(static_cast<int64_t>(std::nearbyint(at)), 1);
    return taps;
  }
  const float first = std::floor(at);
  add(static_cast<int64_t>(first), first + 1 - at);
  add(static_cast<int64_t>(first) + 1, at - first);
  return taps;
}

} // namespace

void gridSample(const GridSampleParams &params, int64_t channels, int64_t places, const float *src, const float *grid,
                float *dst, int64_t begin, int64_t end) {
  int64_t volume = 1;
  for (int i = 0; i < params.axes; ++i)
    volume *= params.sizes[i];
  for (int64_t at = begin; at < end; ++at) {
    Taps axes[3];
    axes[0].count = 1;
    axes[0].index[0] = 0;
    axes[0].weight[0] = 1;
    for (int i = 0; i < params.axes; ++i)
      axes[3 - params.axes + i] =
          makeTaps(grid[at * params.axes + params.axes - 1 - i], params.sizes[i], params);
    const int64_t batch = at / places, place = at % places;
    const int64_t width = params.sizes[params.axes - 1], height = params.sizes[params.axes - 2];
    for (int64_t c = 0; c < channels; ++c) {
      const float *plane = src + (batch * channels + c) * volume;
      float sum = 0;
      for (int i = 0; i < axes[0].count; ++i)
        for (int j = 0; j < axes[1].count; ++j)
          for (int k = 0; k < axes[2].count; ++k)
            sum += plane[(axes[0].index[i] * height + axes[1].index[j]) * width + axes[2].index[k]] *
                   (axes[0].weight[i] * axes[1].weight[j] * axes[2].weight[k]);
      dst[(batch * channels + c) * places + place] = sum;
    }
  }
}

} // namespace qfx::kernels
