// from_float and from_observed of custom modules (workflow 4.8, 5.5).
#ifndef PASSES_CUSTOM_OBSERVEDMODULES_H
#define PASSES_CUSTOM_OBSERVEDMODULES_H

#include "backends/config/Pattern.h"
#include "backends/config/QConfigMapping.h"
#include "ir/Module.h"

#include "llvm/Support/Error.h"

namespace qfx {

/// The observed form of a float custom module: an object of `observedClass` with the float one's attributes, tensors, children and graph;
/// it remembers its qconfig, since what becomes of it at convert depends on that.
llvm::Expected<ModuleRef> makeObservedCustomModule(const Module &module, const OperatorName &observedClass, const QConfig &qconfig);

/// The quantized form of an observed custom module: an object of `quantizedClass` with the observed one's members.
llvm::Expected<ModuleRef> makeQuantizedCustomModule(const Module &observed, const OperatorName &quantizedClass);

} // namespace qfx

#endif // PASSES_CUSTOM_OBSERVEDMODULES_H
