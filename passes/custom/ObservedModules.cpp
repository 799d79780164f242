// Custom modules change their class and keep their members.
#include "passes/custom/ObservedModules.h"

#include "ir/Ops.h"
#include "passes/ModuleUtils.h"

namespace qfx {

/// Of a class of the table what the class knows; of another class everything.
static ModuleRef changeClass(const Module &module, const OperatorName &newClass) {
  if (newClass.row) {
    ModuleRef made = makeModuleFrom(*newClass.row, module);
    for (const auto &[name, child] : module.getChildren())
      made->setChild(name, child);
    return made;
  }
  auto made = std::make_shared<Module>(newClass.text);
  made->setTraining(module.isTraining());
  made->setLoc(module.getLoc());
  for (const auto &[name, value] : module.getAttributes())
    made->setAttribute(name, value);
  for (const auto &[name, tensor] : module.getParameters())
    made->setParameter(name, tensor);
  for (const auto &[name, tensor] : module.getBuffers())
    made->setBuffer(name, tensor);
  for (const auto &[name, child] : module.getChildren())
    made->setChild(name, child);
  return made;
}

llvm::Expected<ModuleRef> makeObservedCustomModule(const Module &module, const OperatorName &observedClass, const QConfig &) {
  return changeClass(module, observedClass);
}

llvm::Expected<ModuleRef> makeQuantizedCustomModule(const Module &observed, const OperatorName &quantizedClass) {
  return changeClass(observed, quantizedClass);
}

} // namespace qfx
