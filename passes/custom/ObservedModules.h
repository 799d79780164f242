// from_float and from_observed of custom modules (workflow 4.8, 5.5).
#ifndef PASSES_CUSTOM_OBSERVEDMODULES_H
#define PASSES_CUSTOM_OBSERVEDMODULES_H

#include "backends/config/Pattern.h"
#include "backends/config/QConfigMapping.h"
#include "ir/Module.h"

#include "llvm/Support/Error.h"

namespace qfx {

/// `observedClass.from_float(module)`: an object of that class with the float one's attributes, tensors, children and graph.
/// torch.nn.LSTM and MultiheadAttention as quantizable ones come in pieces (QuantizableModules.h), each with `qconfig` and its observers.
/// Errors: those of the pieces.
llvm::Expected<ModuleRef> makeObservedCustomModule(const Module &module, const OperatorName &observedClass, const QConfig &qconfig);

/// `quantizedClass.from_observed(observed)`: an object of that class with the observed one's members; pieces are converted, attention's
/// bias_k and bias_v become quint8.  Errors: those of convertEager.
llvm::Expected<ModuleRef> makeQuantizedCustomModule(const Module &observed, const OperatorName &quantizedClass, const QConfig &qconfig);

} // namespace qfx

#endif // PASSES_CUSTOM_OBSERVEDMODULES_H
