// The quantized weight that a reference module stands for (operators 21).
#ifndef BACKENDS_REFERENCE_REFERENCEWEIGHT_H
#define BACKENDS_REFERENCE_REFERENCEWEIGHT_H

#include "backends/observe/Observer.h"

#include <optional>

namespace qfx {

class Module;

/// weight_qscheme, weight_dtype, weight_scale, weight_zero_point, weight_axis and, with is_decomposed, the code range of a reference module;
/// none if its weight is not quantized to integers (float16, no such attributes).
/// \param name  the weight's: a recurrent module has several, whose buffers are <name>_scale and <name>_zero_point.
std::optional<QParams> getWeightQParams(const Module &reference, llvm::StringRef name = "weight");

/// The float32 `weight` quantized with these parameters, codes clamped to weight_quant_min..max with is_decomposed; an error if the
/// module has none or they do not fit the weight.
llvm::Expected<Tensor> getQuantizedWeight(const Module &reference, llvm::StringRef name = "weight");

} // namespace qfx

#endif // BACKENDS_REFERENCE_REFERENCEWEIGHT_H
