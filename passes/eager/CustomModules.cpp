// Custom modules of eager mode: float to observed, observed to quantized.
#include "passes/custom/ObservedModules.h"

#include "ir/Diagnostics.h"
#include "passes/custom/QuantizableModules.h"
#include "passes/eager/EagerDetail.h"

namespace qfx {

llvm::Expected<ModuleRef> makeObserved(const Module &module, llvm::StringRef observedClass, const QConfig &qconfig) {
  llvm::StringRef name = module.getClassName();
  if (observedClass == "torch.ao.nn.quantizable.LSTM" && name == "torch.nn.LSTM")
    return makeQuantizableLstm(module);
  if (observedClass == "torch.ao.nn.quantizable.MultiheadAttention" && name == "torch.nn.MultiheadAttention")
    return makeQuantizableAttention(module);
  return makeObservedCustomModule(module, OperatorName::resolve(observedClass), qconfig);
}

llvm::Expected<ModuleRef> makeQuantizedFromObserved(const Module &module, llvm::StringRef quantizedClass) {
  return makeQuantizedCustomModule(module, OperatorName::resolve(quantizedClass));
}

} // namespace qfx
