// The weight-only product of a few rows with one panel, once for all instruction sets.
#ifndef KERNELS_WEIGHTONLY_WEIGHTONLYTILE_INC_H
#define KERNELS_WEIGHTONLY_WEIGHTONLYTILE_INC_H

#include "kernels/weightonly/WeightOnlyDetail.h"

#include <cstdint>

namespace qfx::kernels {
namespace {

/// Rows that share the work of turning codes into floats.
constexpr int64_t kWeightOnlyRows = 4;

/// `Rows` rows from `row` on, one panel.  A pass covers N columns of each half of the panel (8-bit panels are cut in
/// halves alike), so that a 4-bit byte is read once.
template <class Ops, int Bits, int Rows> void weightOnlyTile(const WeightOnlyArgs &args, int64_t row, int64_t panel) {
  using F = typename Ops::F;
  using I = typename Ops::I;
  constexpr int N = Ops::N, kHalf = kWeightOnlyColumns / 2;
  static_assert(kHalf % N == 0, "half a panel is whole vectors");
  const WeightOnlyPacked &w = args.weights;
  constexpr int64_t kStride = Bits == 8 ? kWeightOnlyColumns : kHalf; // bytes per k
  const int64_t groups = w.depth ? (w.depth + w.groupSize - 1) / w.groupSize : 0;
  const float *src = args.src + row * w.depth;
  float result[Rows][kWeightOnlyColumns];
  for (int part = 0; part < kHalf; part += N) {
    F low[Rows], high[Rows];
    float start[2][N];
    for (int lane = 0; lane < N; ++lane)
      for (int half = 0; half < 2; ++half) {
        int64_t column = panel * kWeightOnlyColumns + half * kHalf + part + lane;
        start[half][lane] = args.bias && column < w.columns ? args.bias[column] : 0.0f;
      }
    for (int r = 0; r < Rows; ++r) {
      low[r] = Ops::load(start[0]);
      high[r] = Ops::load(start[1]);
    }
    const uint8_t *codes = w.codes + panel * w.depth * kStride + part;
    for (int64_t group = 0, k = 0; group < groups; ++group) {
      const float *scale = w.scale + (panel * groups + group) * kWeightOnlyColumns + part;
      const float *zero = w.zeroPoint + (panel * groups + group) * kWeightOnlyColumns + part;
      const F lowScale = Ops::load(scale), highScale = Ops::load(scale + kHalf);
      const F lowZero = Ops::load(zero), highZero = Ops::load(zero + kHalf);
      const int64_t end = k + w.groupSize < w.depth ? k + w.groupSize : w.depth;
      for (; k < end; ++k, codes += kStride) {
        I lowCode = Ops::loadCodes(codes), highCode;
        if constexpr (Bits == 8) {
          highCode = Ops::loadCodes(codes + kHalf);
        } else {
          highCode = Ops::template shiftRight<4>(lowCode);
          lowCode = Ops::bitAnd(lowCode, Ops::setInt(15));
        }
        const F lowWeight = (Ops::toFloat(lowCode) - lowZero) * lowScale;
        const F highWeight = (Ops::toFloat(highCode) - highZero) * highScale;
        for (int r = 0; r < Rows; ++r) {
          const F x = Ops::set(src[r * w.depth + k]);
          low[r] = Ops::fma(x, lowWeight, low[r]);
          high[r] = Ops::fma(x, highWeight, high[r]);
        }
      }
    }
    for (int r = 0; r < Rows; ++r) {
      Ops::store(result[r] + part, low[r]);
      Ops::store(result[r] + kHalf + part, high[r]);
    }
  }
  const int64_t first = panel * kWeightOnlyColumns;
  const int64_t count = w.columns - first < kWeightOnlyColumns ? w.columns - first : kWeightOnlyColumns;
  for (int r = 0; r < Rows; ++r)
    for (int64_t j = 0; j < count; ++j)
      args.dst[(row + r) * w.columns + first + j] = result[r][j];
}

template <class Ops, int Bits>
void weightOnlyRows(const WeightOnlyArgs &args, int64_t rowBegin, int64_t rowEnd, int64_t panelBegin,
                    int64_t panelEnd) {
  for (int64_t panel = panelBegin; panel < panelEnd; ++panel) {
    int64_t row = rowBegin;
    for (; row + kWeightOnlyRows <= rowEnd; row += kWeightOnlyRows)
      weightOnlyTile<Ops, Bits, kWeightOnlyRows>(args, row, panel);
    for (; row < rowEnd; ++row)
      weightOnlyTile<Ops, Bits, 1>(args, row, panel);
  }
}

template <class Ops> constexpr WeightOnlyTable makeWeightOnlyTable() {
  return {&weightOnlyRows<Ops, 8>, &weightOnlyRows<Ops, 4>};
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_WEIGHTONLY_WEIGHTONLYTILE_INC_H
