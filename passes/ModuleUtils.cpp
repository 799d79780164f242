// Copies what two module classes have in common.
#include "passes/ModuleUtils.h"

#include "ir/Ops.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

ModuleRef makeModuleFrom(const TargetInfo &target, const Module &source) {
  auto module = std::make_shared<Module>(target);
  module->setTraining(source.isTraining());
  module->setLoc(source.getLoc());
  for (const auto &[name, value] : source.getAttributes())
    if (target.getSignature().findSlot(name))
      module->setAttribute(name, value);
  std::vector<ModuleTensor> tensors = getModuleTensors(*module); // recurrent classes have as many as they have layers
  tensors.insert(tensors.end(), target.getTensors().begin(), target.getTensors().end());
  auto knows = [&](llvm::StringRef name) {
    return llvm::any_of(tensors, [&](const ModuleTensor &tensor) { return tensor.name == name; });
  };
  for (const auto &[name, tensor] : source.getParameters())
    if (knows(name))
      module->setParameter(name, tensor);
  for (const auto &[name, tensor] : source.getBuffers())
    if (knows(name))
      module->setBuffer(name, tensor);
  return module;
}

} // namespace qfx
