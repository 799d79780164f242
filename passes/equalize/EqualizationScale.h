// The arithmetic of input-weight equalization: a scale per column, weights and ranges that follow it.
#ifndef PASSES_EQUALIZE_EQUALIZATIONSCALE_H
#define PASSES_EQUALIZE_EQUALIZATIONSCALE_H

#include "ir/Tensor.h"

#include "llvm/ADT/ArrayRef.h"

#include <utility>
#include <vector>

namespace qfx {

/// Smallest and largest values, one per column; NaN sticks.
struct ColumnRanges {
  std::vector<float> mins, maxs;
};

/// \param weight  f32 [out, in / groups, ...], dense row-major, not empty.
/// \param groups  divides `out`.  QFX: column j of group g stands for input channel g * in / groups + j; PyTorch's groups are 1.
/// \returns ranges of the `in` input channels.
ColumnRanges findWeightColumns(const Tensor &weight, int64_t groups);

/// sqrt((max_w - min_w) / (max_x - min_x)) per column, binary32 after every operation; what is 0, infinite or NaN becomes 1.
/// Source: torch/ao/quantization/fx/_equalize.py, calculate_equalization_scale.  Both have as many columns (asserted).
std::vector<float> calculateEqualizationScale(const ColumnRanges &input, const ColumnRanges &weight);

/// weight * (1 / scale) along the input channels.  \param scale  as many as input channels (asserted).
Tensor divideColumns(const Tensor &weight, llvm::ArrayRef<float> scale, int64_t groups);

/// tensor * scale along axis 0: rows of a weight, elements of a bias.  \param scale  as many as rows (asserted).
Tensor multiplyRows(const Tensor &tensor, llvm::ArrayRef<float> scale);

/// The range of the scaled values: least mins[c] * scale[c], largest maxs[c] * scale[c].
std::pair<float, float> getScaledRange(const ColumnRanges &input, llvm::ArrayRef<float> scale);

} // namespace qfx

#endif // PASSES_EQUALIZE_EQUALIZATIONSCALE_H
