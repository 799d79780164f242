// Checks and conversions that many binding functions share.
#ifndef BACKENDS_RUNTIME_BINDHELPERS_H
#define BACKENDS_RUNTIME_BINDHELPERS_H

#include "backends/runtime/BindContext.h"
#include "kernels/elementwise/Broadcast.h"
#include "kernels/quantize/QParams.h"

#include "llvm/Support/Error.h"

namespace qfx::runtime {

/// The float32 tensor in a slot.
llvm::Expected<View> getFloatTensor(BindContext &context, llvm::StringRef slot);

/// The per-tensor quantized tensor of 8-bit codes in a slot, with parameters known before running.
struct CodeOperand {
  View view;
  kernels::QParams params;
  bool isSigned() const { return view.getDType() == DType::QInt8; }
};
llvm::Expected<CodeOperand> getCodeTensor(BindContext &context, llvm::StringRef slot);
llvm::Expected<CodeOperand> toCodeOperand(BindContext &context, const View &view, llvm::StringRef slot);

/// Parameters of a result type that is quantized per tensor.
llvm::Expected<kernels::QParams> getResultParams(BindContext &context, const TensorType &type);

inline kernels::QParams toQParams(const Quantizer &quantizer) {
  return {quantizer.getScale(), static_cast<int32_t>(quantizer.getZeroPoint())};
}

/// Distance of pixels (elements) if the view stores images channels-innermost with evenly spaced pixels: dense, or a
/// block of channels out of such a tensor.
std::optional<int64_t> getPixelStride(const View &view);

/// The walk that computes `out` (dense in its own order) from two broadcast operands.
kernels::BroadcastPlan makeBroadcast(const View &out, const View &a, const View &b);

/// The layout in which a binary operator should leave its result: that of an operand which has the result's sizes and
/// is dense, else the default.
Strides chooseLayout(const TensorType &type, const View &a, const View &b);

/// With a dimension of size 1 put in at `dim`.
View unsqueezed(View view, size_t dim);
/// Without dimension `dim`, whose size is 1.
View squeezed(View view, size_t dim);

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_BINDHELPERS_H
