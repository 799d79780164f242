// Lookup by quantization type and class.
#include "passes/config/CustomModuleMapping.h"

#include "ir/Diagnostics.h"
#include "ir/Module.h"

namespace qfx {

llvm::Expected<OperatorName> getSwappedCustomModuleClass(const Module &module, const CustomModuleMapping &mapping, const QConfig &qconfig) {
  llvm::Expected<QuantType> type = getQuantType(qconfig);
  if (!type)
    return type.takeError();
  OperatorName moduleClass = OperatorName::ofClass(module);
  auto classes = mapping.find(*type);
  if (classes != mapping.end())
    for (const auto &[from, to] : classes->second)
      if (from == moduleClass)
        return to;
  return error(module.getLoc(), "no class to swap '{0}' for under quantization type '{1}'", moduleClass.text, getQuantTypeName(*type))
      .code("custom_module_class");
}

} // namespace qfx
