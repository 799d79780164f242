// Observer loops over batches: several independent minima and maxima, and bin indices counted into sub-histograms.
#ifndef KERNELS_HISTOGRAM_HISTOGRAMTILE_INC_H
#define KERNELS_HISTOGRAM_HISTOGRAMTILE_INC_H

#include "kernels/histogram/HistogramDetail.h"
#include "kernels/simd/Rows.inc.h"

namespace qfx::kernels {
namespace {

/// Smallest, largest and "is any NaN" of lanes.
template <class Ops> MinMax reduceMinMax(typename Ops::F low, typename Ops::F high, bool nan) {
  float lows[Ops::N], highs[Ops::N];
  Ops::store(lows, low);
  Ops::store(highs, high);
  MinMax result;
  for (int j = 0; j < Ops::N; ++j) {
    result.min = lows[j] < result.min ? lows[j] : result.min;
    result.max = highs[j] > result.max ? highs[j] : result.max;
  }
  if (nan)
    return {__builtin_nanf(""), __builtin_nanf("")};
  return {result.min + 0.0f, result.max + 0.0f}; // -0 and 0 compare equal: let the sign not depend on the order
}

template <class Ops> MinMax minMaxRow(const float *src, int64_t n) {
  using F = typename Ops::F;
  constexpr int N = Ops::N, K = 4;
  F low[K], high[K];
  auto nan = Ops::isNan(Ops::set(0));
  for (int k = 0; k < K; ++k) {
    low[k] = Ops::set(__builtin_inff());
    high[k] = Ops::set(-__builtin_inff());
  }
  // min and max keep the accumulator where v is NaN; a separate mask remembers that one was seen
  auto take = [&](F v, int k) {
    low[k] = Ops::min(v, low[k]);
    high[k] = Ops::max(v, high[k]);
    nan = Ops::either(nan, Ops::isNan(v));
  };
  int64_t i = 0;
  for (; i + K * N <= n; i += K * N) {
    take(Ops::load(src + i), 0);
    take(Ops::load(src + i + N), 1);
    take(Ops::load(src + i + 2 * N), 2);
    take(Ops::load(src + i + 3 * N), 3);
  }
  for (; i + N <= n; i += N)
    take(Ops::load(src + i), 0);
  if (i < n) {
    float buffer[N];
    for (int j = 0; j < N; ++j)
      buffer[j] = src[i + j < n ? i + j : i];
    take(Ops::load(buffer), 0);
  }
  F lowest = Ops::min(Ops::min(low[0], low[1]), Ops::min(low[2], low[3]));
  F highest = Ops::max(Ops::max(high[0], high[1]), Ops::max(high[2], high[3]));
  return reduceMinMax<Ops>(lowest, highest, Ops::any(nan));
}

template <class Ops>
void minMaxChannels(const float *src, int64_t rows, int64_t channels, int64_t rowStride, float *mins, float *maxs) {
  using F = typename Ops::F;
  constexpr int N = Ops::N;
  // NaN sticks: once the accumulator or the value is NaN, so is the result
  auto lower = [](F acc, F v) { return Ops::select(Ops::isNan(v), v, Ops::select(Ops::less(v, acc), v, acc)); };
  auto higher = [](F acc, F v) { return Ops::select(Ops::isNan(v), v, Ops::select(Ops::less(acc, v), v, acc)); };
  int64_t c = 0;
  for (; c + N <= channels; c += N) {
    F low = Ops::load(mins + c), high = Ops::load(maxs + c);
    for (int64_t r = 0; r < rows; ++r) {
      F v = Ops::load(src + r * rowStride + c);
      low = lower(low, v);
      high = higher(high, v);
    }
    Ops::store(mins + c, low + Ops::set(0));
    Ops::store(maxs + c, high + Ops::set(0));
  }
  for (; c < channels; ++c) {
    float low = mins[c], high = maxs[c];
    for (int64_t r = 0; r < rows; ++r) {
      float v = src[r * rowStride + c];
      low = v != v || v < low ? v : low;
      high = v != v || v > high ? v : high;
    }
    mins[c] = low + 0.0f;
    maxs[c] = high + 0.0f;
  }
}

/// Counts indexOf(x) for each value, spread over four sub-histograms so that runs of one bin do not wait for each other.
template <class Ops, class IndexOf>
void countIndices(const float *src, int64_t n, uint32_t *counts, int64_t stride, IndexOf indexOf) {
  constexpr int N = Ops::N;
  constexpr int B = 2 * N < 16 ? 16 : 2 * N; // indices go through a small buffer: stores, then scalar increments
  int32_t index[B];
  uint32_t *c0 = counts, *c1 = counts + stride, *c2 = counts + 2 * stride, *c3 = counts + 3 * stride;
  int64_t i = 0;
  for (; i + B <= n; i += B) {
    for (int j = 0; j < B; j += N)
      Ops::storeInt(index + j, indexOf(Ops::load(src + i + j)));
    for (int j = 0; j < B; j += 4) {
      ++c0[index[j]];
      ++c1[index[j + 1]];
      ++c2[index[j + 2]];
      ++c3[index[j + 3]];
    }
  }
  if (i < n) {
    float buffer[B] = {};
    copyFew(buffer, src + i, n - i);
    for (int j = 0; j < B; j += N)
      Ops::storeInt(index + j, indexOf(Ops::load(buffer + j)));
    for (int64_t j = 0; j < n - i; ++j)
      ++c0[index[j]];
  }
}

template <class Ops>
void countBins(const float *src, int64_t n, float lo, float hi, int32_t numBins, uint32_t *counts, int64_t stride) {
  using F = typename Ops::F;
  const F low = Ops::set(lo), high = Ops::set(hi), bins = Ops::set(static_cast<float>(numBins));
  const F width = Ops::set(hi - lo);
  const auto last = Ops::setInt(numBins - 1), outside = Ops::setInt(numBins);
  countIndices<Ops>(src, n, counts, stride, [&](F x) {
    auto inside = Ops::both(Ops::lessEqual(low, x), Ops::lessEqual(x, high));
    F safe = Ops::select(inside, x, low);
    auto bin = Ops::minInt(Ops::toIntTrunc(Ops::div((safe - low) * bins, width)), last);
    return Ops::selectInt(inside, bin, outside);
  });
}

template <class Ops>
void countGrid(const float *src, int64_t n, float inverseWidth, int32_t first, int32_t numBins, uint32_t *counts,
               int64_t stride) {
  using F = typename Ops::F;
  const F inverse = Ops::set(inverseWidth), zero = Ops::set(0), below = Ops::set(-1);
  const F low = Ops::set(static_cast<float>(first)), high = Ops::set(static_cast<float>(first + numBins - 1));
  const auto start = Ops::setInt(first), outside = Ops::setInt(numBins);
  countIndices<Ops>(src, n, counts, stride, [&](F x) {
    F position = x * inverse;
    // a negative value that underflows is still left of zero
    F cell = Ops::select(Ops::both(Ops::less(x, zero), Ops::equal(position, zero)), below, Ops::floor(position));
    auto inside = Ops::both(Ops::lessEqual(low, cell), Ops::lessEqual(cell, high));
    auto bin = Ops::sub(Ops::toIntTrunc(Ops::select(inside, cell, low)), start);
    return Ops::selectInt(inside, bin, outside);
  });
}

/// torch.div(a, b, rounding_mode='floor') for b > 0 and |a / b| < 2^22: the remainder is exact, as fmod's is.
template <class Ops> typename Ops::F floorDivide(typename Ops::F a, typename Ops::F b) {
  using F = typename Ops::F;
  const F zero = Ops::set(0), one = Ops::set(1);
  F size = Ops::abs(a);
  // The rounded quotient may reach the next integer, never fall below one.
  F rest = Ops::fma(zero - Ops::trunc(Ops::div(size, b)), b, size);
  rest = Ops::select(Ops::less(rest, zero), rest + b, rest);
  F mod = Ops::select(Ops::less(a, zero), zero - rest, rest);
  F quotient = Ops::div(a - mod, b);
  quotient = Ops::select(Ops::less(mod, zero), quotient - one, quotient);
  F floored = Ops::floor(quotient);
  return Ops::select(Ops::less(Ops::set(0.5f), quotient - floored), floored + one, floored);
}

template <class Ops> void errorNorms(const LevelGrid &grid, const float *density, float *norm, int32_t bins) {
  using F = typename Ops::F;
  constexpr int N = Ops::N;
  const F zero = Ops::set(0), one = Ops::set(1), half = Ops::set(0.5f), three = Ops::set(3);
  const F binWidth = Ops::set(grid.binWidth), levelWidth = Ops::set(grid.levelWidth), last = Ops::set(grid.lastLevel);
  const F halfLevel = Ops::set(grid.halfLevel), minusHalf = zero - halfLevel;
  auto cube = [](F x) { return x * x * x; };
  auto integral = [&](F begin, F end) { return Ops::div(cube(end) - cube(begin), three); }; // of x^2
  auto levelOf = [&](F position) {
    F level = floorDivide<Ops>(position, levelWidth);
    level = Ops::select(Ops::less(level, zero), zero, level);
    return Ops::select(Ops::less(last, level), last, level);
  };
  const F inner = integral(minusHalf, halfLevel);
  auto normOf = [&](F bin, F count) {
    F begin = bin * binWidth, end = begin + binWidth;
    F beginLevel = levelOf(begin), endLevel = levelOf(end);
    F beginCenter = (beginLevel + half) * levelWidth, endCenter = endLevel * levelWidth + halfLevel;
    F first = count * integral(begin - beginCenter, halfLevel);
    F middle = (endLevel - beginLevel - one) * (count * inner);
    return (first + middle) + count * integral(minusHalf, end - endCenter);
  };
  float lanes[N];
  for (int j = 0; j < N; ++j)
    lanes[j] = static_cast<float>(j);
  const F lane = Ops::load(lanes);
  for (int32_t i = 0; i < bins; i += N) {
    F bin = Ops::set(static_cast<float>(i - grid.start)) + lane;
    if (i + N <= bins) {
      Ops::store(norm + i, normOf(bin, Ops::load(density + i)));
    } else {
      float buffer[N] = {};
      copyFew(buffer, density + i, bins - i);
      Ops::store(buffer, normOf(bin, Ops::load(buffer)));
      copyFew(norm + i, buffer, bins - i);
    }
  }
}

template <class Ops> constexpr HistogramKernels makeHistogramKernels() {
  return {&minMaxRow<Ops>, &minMaxChannels<Ops>, &countBins<Ops>, &countGrid<Ops>, &errorNorms<Ops>};
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_HISTOGRAM_HISTOGRAMTILE_INC_H
