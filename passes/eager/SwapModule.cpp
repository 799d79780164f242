// swap_module: one module becomes its twin.
#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "ir/Text.h"
#include "passes/custom/ObservedModules.h"
#include "passes/eager/Eager.h"
#include "passes/eager/EagerDetail.h"
#include "passes/qat/QatModules.h"

namespace qfx {

/// Reference, QAT and quantized classes are made in different ways; the class's namespace tells which.
static llvm::Expected<ModuleRef> makeFromFloat(const ModuleRef &module, llvm::StringRef twin, const FromFloatOptions &options) {
  const TargetInfo *target = findModuleClass(twin);
  if (!target || !module->getClass())
    return error(module->getLoc(), "'{0}' cannot be made from '{1}': this build does not know the class '{2}'", twin, module->getClassName(),
                 target ? llvm::StringRef(module->getClassName()) : twin)
        .code("eager_swap");
  if (startsWith(twin, "torch.ao.nn.quantized.reference."))
    return makeReferenceFromFloat(*module, *target, options);
  if (startsWith(twin, "torch.ao.nn.qat.") || startsWith(twin, "torch.ao.nn.intrinsic.qat."))
    return makeQatModule(*module, *target, options.weightQConfig ? *options.weightQConfig : options.qconfig);
  return makeQuantizedFromFloat(*module, *target, options);
}

llvm::Expected<ModuleRef> swapModule(const ModuleRef &module, const ModuleQConfigs &qconfigs, const SwapOptions &options) {
  const QConfig *qconfig = qconfigs.getActive(*module);
  if (!qconfig)
    return module;
  if (const std::string *custom = options.observedToQuantized.find(*module))
    return makeQuantizedCustomModule(*module, OperatorName::resolve(*custom), *qconfig);
  const std::string *twin = options.mapping.find(*module);
  if (!twin)
    return module;
  ModuleRef first = isFusedModule(*module) ? module->findChild("0") : nullptr;
  const QConfig *weightQConfig = first ? qconfigs.getActive(*first) : nullptr;
  return makeFromFloat(module, *twin, {*qconfig, weightQConfig, options.usePrecomputedFakeQuant});
}

} // namespace qfx
