// The float convolution behind every spelling that ends in one.
#ifndef BACKENDS_REFERENCE_FLOATCONV_H
#define BACKENDS_REFERENCE_FLOATCONV_H

#include "backends/runtime/BindContext.h"

namespace qfx::runtime {

/// Convolution of 1 to 3 spatial axes with weight f32 [out, in / groups, k...] and bias f32 [out] (null tensor: none);
/// geometry from the call's stride, padding, dilation, groups, padding_mode; takes in a clamp that follows.
llvm::Expected<RuntimeValue> emitFloatConv(BindContext &context, const View &input, const Tensor &weight,
                                           const Tensor &bias);

} // namespace qfx::runtime

#endif // BACKENDS_REFERENCE_FLOATCONV_H
