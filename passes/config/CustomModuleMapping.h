// Which class a custom module is swapped for, by quantization type.
#ifndef PASSES_CONFIG_CUSTOMMODULEMAPPING_H
#define PASSES_CONFIG_CUSTOMMODULEMAPPING_H

#include "backends/config/Pattern.h"
#include "backends/config/QConfigPredicates.h"

#include <map>

namespace qfx {

/// Float class -> observed class, or observed class -> quantized class, per quantization type.
using CustomModuleMapping = std::map<QuantType, std::vector<std::pair<OperatorName, OperatorName>>>;

/// get_swapped_custom_module_class: what `mapping` has for the class of `module` under the quantization type of `qconfig`.  Errors: those of
/// getQuantType; a class that is not in the mapping (`custom_module_class`).
llvm::Expected<OperatorName> getSwappedCustomModuleClass(const Module &module, const CustomModuleMapping &mapping, const QConfig &qconfig);

} // namespace qfx

#endif // PASSES_CONFIG_CUSTOMMODULEMAPPING_H
