// A float tensor scaled line by line.
#ifndef BACKENDS_OBSERVE_SCALELINES_H
#define BACKENDS_OBSERVE_SCALELINES_H

#include "ir/Tensor.h"

#include <vector>

namespace qfx {

/// `input`, float32 and dense, as factors.size() lines of equal length (asserted); every element of line i times factors[i], rounded once.
/// Large tensors are computed when they are read (Tensor::computed).
Tensor scaleLines(const Tensor &input, std::vector<float> factors);

} // namespace qfx

#endif // BACKENDS_OBSERVE_SCALELINES_H
