// The float weights that reference modules compute with (operators 21).
#ifndef BACKENDS_REFERENCE_REFERENCEMODULES_H
#define BACKENDS_REFERENCE_REFERENCEMODULES_H

#include "backends/runtime/BindContext.h"

namespace qfx::runtime {

/// get_weight() of the called reference module: its weight `name` quantized and dequantized, or rounded through half;
/// made once.
llvm::Expected<Tensor> getReferenceWeight(BindContext &context, llvm::StringRef name);

/// The operand `weight`: of a reference module what its quantized weight stands for, else the tensor itself.
llvm::Expected<View> getWeightOperand(BindContext &context);

} // namespace qfx::runtime

#endif // BACKENDS_REFERENCE_REFERENCEMODULES_H
