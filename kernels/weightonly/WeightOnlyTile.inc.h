// The weight-only product, once for all instruction sets: a row alone meets several panels, several rows share a panel's floats.
#ifndef KERNELS_WEIGHTONLY_WEIGHTONLYTILE_INC_H
#define KERNELS_WEIGHTONLY_WEIGHTONLYTILE_INC_H

#include "kernels/simd/Rows.inc.h"
#include "kernels/weightonly/WeightOnlyDetail.h"

#include <cstdint>

namespace qfx::kernels {
namespace {

/// Depth of the weights that are floats at a time where several rows share them: 16 KB.
constexpr int64_t kWeightOnlyStretch = 256;
constexpr int kWeightOnlyPanels = 2; ///< that a row on its own meets at a time
constexpr int kWeightOnlyHalf = kWeightOnlyColumns / 2;

/// Scale and zero point of N columns of each half of a panel, for one group; a 4-bit byte holds a code of either half, and 8-bit panels are cut
/// alike.
template <class Ops, int Bits> struct WeightOnlyGroup {
  using F = typename Ops::F;
  static constexpr int64_t kStride = Bits == 8 ? kWeightOnlyColumns : kWeightOnlyHalf; // bytes per k
  F lowScale, highScale, lowZero, highZero;

  inline __attribute__((always_inline)) WeightOnlyGroup(const WeightOnlyPacked &w, int64_t panel, int64_t groups, int64_t group, int part) {
    const int64_t at = (panel * groups + group) * kWeightOnlyColumns + part;
    lowScale = Ops::load(w.scale + at);
    highScale = Ops::load(w.scale + at + kWeightOnlyHalf);
    lowZero = Ops::load(w.zeroPoint + at);
    highZero = Ops::load(w.zeroPoint + at + kWeightOnlyHalf);
  }
  inline __attribute__((always_inline)) void toFloats(const uint8_t *codes, F &low, F &high) const {
    auto lowCode = Ops::loadCodes(codes), highCode = lowCode;
    if constexpr (Bits == 8) {
      highCode = Ops::loadCodes(codes + kWeightOnlyHalf);
    } else {
      highCode = Ops::template shiftRight<4>(lowCode);
      lowCode = Ops::bitAnd(lowCode, Ops::setInt(15));
    }
    low = (Ops::toFloat(lowCode) - lowZero) * lowScale;
    high = (Ops::toFloat(highCode) - highZero) * highScale;
  }
};

/// What the chains of a panel start with.
inline void startPanel(const WeightOnlyArgs &args, int64_t panel, float *start) {
  for (int64_t j = 0, column = panel * kWeightOnlyColumns; j < kWeightOnlyColumns; ++j, ++column)
    start[j] = args.bias && column < args.weights.columns ? args.bias[column] : 0.0f;
}

/// One row, `Panels` panels: their chains run side by side, since one alone waits for itself.
template <class Ops, int Bits, int Panels> void weightOnlyRow(const WeightOnlyArgs &args, int64_t row, int64_t panel) {
  using F = typename Ops::F;
  using Group = WeightOnlyGroup<Ops, Bits>;
  constexpr int N = Ops::N, kHalf = kWeightOnlyHalf;
  static_assert(kHalf % N == 0, "half a panel is whole vectors");
  const WeightOnlyPacked &w = args.weights;
  const int64_t groups = w.depth ? (w.depth + w.groupSize - 1) / w.groupSize : 0;
  const float *src = args.src + row * w.depth;
  float result[Panels * kWeightOnlyColumns];
  for (int p = 0; p < Panels; ++p)
    startPanel(args, panel + p, result + p * kWeightOnlyColumns);
  for (int part = 0; part < kHalf; part += N)
    for (int64_t group = 0, k = 0; group < groups; ++group) {
      const int64_t begin = k;
      k = k + w.groupSize < w.depth ? k + w.groupSize : w.depth;
      F low[Panels], high[Panels];
#pragma GCC unroll 8
      for (int p = 0; p < Panels; ++p) {
        low[p] = Ops::load(result + p * kWeightOnlyColumns + part);
        high[p] = Ops::load(result + p * kWeightOnlyColumns + kHalf + part);
      }
      const uint8_t *codes = w.codes + (panel * w.depth + begin) * Group::kStride + part;
      for (int64_t i = begin; i < k; ++i, codes += Group::kStride) {
        const F x = Ops::set(src[i]);
#pragma GCC unroll 8
        for (int p = 0; p < Panels; ++p) {
          F lowWeight, highWeight;
          Group(w, panel + p, groups, group, part).toFloats(codes + p * w.depth * Group::kStride, lowWeight, highWeight);
          low[p] = Ops::fma(x, lowWeight, low[p]);
          high[p] = Ops::fma(x, highWeight, high[p]);
        }
      }
#pragma GCC unroll 8
      for (int p = 0; p < Panels; ++p) {
        Ops::store(result + p * kWeightOnlyColumns + part, low[p]);
        Ops::store(result + p * kWeightOnlyColumns + kHalf + part, high[p]);
      }
    }
  const int64_t first = panel * kWeightOnlyColumns, left = w.columns - first;
  copyFew(args.dst + row * w.columns + first, result, left < Panels * kWeightOnlyColumns ? left : Panels * kWeightOnlyColumns);
}

/// Weights of k in [begin, end) of a panel as floats [end - begin, 16].
template <class Ops, int Bits> void unpackStretch(const WeightOnlyPacked &w, int64_t panel, int64_t begin, int64_t end, float *dst) {
  using F = typename Ops::F;
  using Group = WeightOnlyGroup<Ops, Bits>;
  const int64_t groups = (w.depth + w.groupSize - 1) / w.groupSize;
  for (int part = 0; part < kWeightOnlyHalf; part += Ops::N)
    for (int64_t k = begin; k < end;) {
      const int64_t group = k / w.groupSize, stop = (group + 1) * w.groupSize < end ? (group + 1) * w.groupSize : end;
      const Group unpack(w, panel, groups, group, part);
      const uint8_t *codes = w.codes + (panel * w.depth + k) * Group::kStride + part;
      for (; k < stop; ++k, codes += Group::kStride) {
        F low, high;
        unpack.toFloats(codes, low, high);
        Ops::store(dst + (k - begin) * kWeightOnlyColumns + part, low);
        Ops::store(dst + (k - begin) * kWeightOnlyColumns + kWeightOnlyHalf + part, high);
      }
    }
}

/// Adds `depth` products to the chains of `Rows` rows of a panel: src rows lds apart, dst rows ldd apart, of which `count` columns are there;
/// the chains start with `start`, or with what dst holds if it is null.
template <class Ops, int Rows>
void addStretch(const float *src, int64_t lds, int64_t depth, const float *weights, const float *start, float *dst, int64_t ldd, int64_t count) {
  using F = typename Ops::F;
  constexpr int N = Ops::N, NV = kWeightOnlyColumns / N;
  F acc[Rows][NV];
  float edge[kWeightOnlyColumns] = {};
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    const float *from = start ? start : dst + r * ldd;
    if (!start && count < kWeightOnlyColumns) {
      copyFew(edge, from, count);
      from = edge;
    }
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v)
      acc[r][v] = Ops::load(from + v * N);
  }
  for (int64_t k = 0; k < depth; ++k, weights += kWeightOnlyColumns) {
    F w[NV];
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v)
      w[v] = Ops::load(weights + v * N);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const F x = Ops::set(src[r * lds + k]);
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v)
        acc[r][v] = Ops::fma(x, w[v], acc[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    float *to = count < kWeightOnlyColumns ? edge : dst + r * ldd;
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v)
      Ops::store(to + v * N, acc[r][v]);
    if (count < kWeightOnlyColumns)
      copyFew(dst + r * ldd, edge, count);
  }
}

/// Several rows of one panel, which share the work of turning codes into floats.
template <class Ops, int Bits> void weightOnlyPanel(const WeightOnlyArgs &args, int64_t rowBegin, int64_t rowEnd, int64_t panel) {
  constexpr int kRows = 6;
  const WeightOnlyPacked &w = args.weights;
  const int64_t first = panel * kWeightOnlyColumns, left = w.columns - first;
  const int64_t count = left < kWeightOnlyColumns ? left : kWeightOnlyColumns;
  float start[kWeightOnlyColumns], weights[kWeightOnlyStretch * kWeightOnlyColumns];
  startPanel(args, panel, start);
  int64_t k = 0;
  do { // once for depth 0 too, which leaves the bias
    const int64_t end = k + kWeightOnlyStretch < w.depth ? k + kWeightOnlyStretch : w.depth;
    unpackStretch<Ops, Bits>(w, panel, k, end, weights);
    auto add = [&](auto addRows, int64_t row) {
      addRows(args.src + row * w.depth + k, w.depth, end - k, weights, k == 0 ? start : nullptr, args.dst + row * w.columns + first, w.columns, count);
    };
    int64_t row = rowBegin;
    for (; row + kRows <= rowEnd; row += kRows)
      add(&addStretch<Ops, kRows>, row);
    for (; row + 4 <= rowEnd; row += 4)
      add(&addStretch<Ops, 4>, row);
    for (; row + 2 <= rowEnd; row += 2)
      add(&addStretch<Ops, 2>, row);
    if (row < rowEnd)
      add(&addStretch<Ops, 1>, row);
    k = end;
  } while (k < w.depth);
}

template <class Ops, int Bits>
void weightOnlyRows(const WeightOnlyArgs &args, int64_t rowBegin, int64_t rowEnd, int64_t panelBegin,
                    int64_t panelEnd) {
  int64_t panel = panelBegin;
  if (rowEnd - rowBegin > 1) {
    for (; panel < panelEnd; ++panel)
      weightOnlyPanel<Ops, Bits>(args, rowBegin, rowEnd, panel);
  } else if (rowEnd > rowBegin) {
    for (; panel + kWeightOnlyPanels <= panelEnd; panel += kWeightOnlyPanels)
      weightOnlyRow<Ops, Bits, kWeightOnlyPanels>(args, rowBegin, panel);
    for (; panel < panelEnd; ++panel)
      weightOnlyRow<Ops, Bits, 1>(args, rowBegin, panel);
  }
}

template <class Ops> constexpr WeightOnlyTable makeWeightOnlyTable() {
  return {&weightOnlyRows<Ops, 8>, &weightOnlyRows<Ops, 4>};
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_WEIGHTONLY_WEIGHTONLYTILE_INC_H
