// The quantization parameters of a weight: measured by its observer, kept on a reference module; and float16 weights.
#ifndef PASSES_WEIGHTQPARAMS_H
#define PASSES_WEIGHTQPARAMS_H

#include "backends/config/QConfig.h"
#include "backends/observe/Observer.h"
#include "ir/Module.h"

#include "llvm/Support/Error.h"

namespace qfx {

/// The observer for the weight of a call of `target` (module class or function).  QFX (known_traps B51): the output channels of a transposed
/// convolution are axis 1 of its weight, whatever ch_axis a per-channel observer says.  QFX (B94): the slope of a PReLU is measured as quint8,
/// which is what nnq.PReLU holds, by MinMaxObserver if `spec` has another dtype.
ObserverSpec makeWeightSpec(const ObserverSpec &spec, llvm::StringRef target);

/// Errors: an element that is infinite or NaN (`convert_finite`, naming the first one).
/// \param kind  "weight" or "bias", for messages, as is `name`, the tensor's path.
llvm::Error checkFinite(const Tensor &tensor, llvm::StringRef kind, llvm::StringRef name, const Location &loc);

/// Lets `observer` look at the weight once and returns what it comes to.
/// \param name  the weight's path, for messages.
/// Errors: a weight that is not float32 (`convert_weight`), elements or a range from which no finite scale > 0 follows
/// (`convert_finite`, `convert_scale`), the observer's own.
llvm::Expected<QParams> measureWeight(Module &observer, const Tensor &weight, llvm::StringRef name, const Location &loc);

/// get_qparam_dict of tensor `name` as a reference module keeps it (operators 21): weight_qscheme (symmetric schemes become affine ones),
/// weight_dtype, weight_axis, the code range, and buffers <name>_scale f32[n] and <name>_zero_point i64[n] (f32[n] for float-qparams
/// schemes), n = 1 per tensor or the number of channels.
void setWeightQParams(Module &reference, llvm::StringRef name, const QParams &qparams);

/// The same of a weight that is only rounded when lowered (float16): no scheme, scale 1 and zero point 0, both without dimensions.
void setUnmeasuredWeight(Module &reference, llvm::StringRef name, DType dtype);

/// A float weight as float16: rounded half to even; values beyond the range saturate at +-65504, NaN stays (operators 11.2; FBGEMM's
/// FloatToFloat16 with clipping).
Tensor saturateToHalf(const Tensor &weight);

} // namespace qfx

#endif // PASSES_WEIGHTQPARAMS_H
