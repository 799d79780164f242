// Weight-only quantization of linear layers: integer weights in groups, float arithmetic, nothing to calibrate.
#ifndef PASSES_WEIGHTONLY_WEIGHTONLYLINEAR_H
#define PASSES_WEIGHTONLY_WEIGHTONLYLINEAR_H

#include "passes/Pass.h"

namespace qfx {

struct WeightOnlyOptions {
  int64_t bits = 8;      ///< 8 or 4
  int64_t groupSize = 0; ///< neighbouring input features that share a scale; 0: all of a row
  bool symmetric = true; ///< zero point 0 (8 bits) or 8 (4 bits); else one per group
};

/// Codes, scales and zero points of a weight f32 [N, K], per row and group.
struct WeightOnlyCodes {
  Tensor codes;     ///< i8 [N, K], or u8 [N, ceil(K / 2)] with two codes a byte, the even column low
  Tensor scale;     ///< f32 [N, groups]
  Tensor zeroPoint; ///< i32 [N, groups]; null if symmetric
};

/// Symmetric: scale = f32(2 max|w| / (hi - lo)); else scale = f32((max - min) / (hi - lo)) and zero point
/// clamp(lo - RNE(min / scale), lo, hi), the range widened to contain 0; an all-zero group has scale 1.
/// Codes: clamp(RNE(f32(w * f32(1 / scale))) + zero point, lo, hi); [lo, hi] is [-128, 127] or [0, 15].  Source:
/// operators 2.2, 3.1.  \param weight  finite.
WeightOnlyCodes quantizeWeightOnly(const Tensor &weight, const WeightOnlyOptions &options);

/// Replaces linear layers, modules and function calls with a constant float32 weight, by `qfx.nn.WeightOnlyLinear`;
/// modules that several calls share stay shared.  Others stay, with a remark.  \returns whether any layer was replaced.
/// Errors: `weight_only_bits`, `weight_only_group`, `convert_finite`.
llvm::Expected<bool> quantizeLinearWeights(GraphModule &model, const WeightOnlyOptions &options, PassContext &context);

} // namespace qfx

#endif // PASSES_WEIGHTONLY_WEIGHTONLYLINEAR_H
