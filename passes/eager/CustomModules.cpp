// Custom modules of eager mode: float to observed, observed to quantized.
#include "ir/Diagnostics.h"
#include "passes/eager/EagerDetail.h"

namespace qfx {

llvm::Expected<ModuleRef> makeObservedModule(const ModuleRef &module, llvm::StringRef observedClass, const QConfig &qconfig) {
  return error(module->getLoc(),
               "'{0}' would become '{1}', which this build cannot observe: give it no qconfig, or quantize it dynamically, with {2}",
               module->getClassName(), observedClass, "quantize_dynamic")
      .code("eager_custom");
}

llvm::Expected<ModuleRef> makeQuantizedCustomModule(const ModuleRef &module, llvm::StringRef quantizedClass) {
  return error(module->getLoc(), "'{0}' cannot be made from '{1}' in this build", quantizedClass, module->getClassName()).code("eager_custom");
}

} // namespace qfx
