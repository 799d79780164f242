// torch.ao.quantization.utils about models and configurations; what is about qconfigs stands in backends/config/QConfigPredicates.h.
#ifndef PASSES_QUANTIZATIONUTILS_H
#define PASSES_QUANTIZATIONUTILS_H

#include "backends/config/Pattern.h"
#include "backends/config/QConfigPredicates.h"
#include "backends/runtime/Program.h"

#include <map>
#include <variant>

namespace qfx {

/// What a dotted path of a model leads to.
using Member = std::variant<ModuleRef, Tensor, Argument>;

/// getattr_from_fqn: the module, tensor or attribute at a dotted path below `root`.  An error (`fqn_missing`) names the part that is not there
/// and the nearest one that is.
llvm::Expected<Member> getattrFromFqn(const Module &root, llvm::StringRef fqn);

/// get_combined_dict: `defaults` updated by `additional`, both dicts (asserted).  A key of both keeps its place and takes the value of
/// `additional`; new keys follow in their order.
Argument getCombinedDict(const Argument &defaults, const Argument &additional);

/// Float class -> observed or quantized class, per quantization type.
using CustomModuleMapping = std::map<QuantType, std::vector<std::pair<OperatorName, OperatorName>>>;

/// get_swapped_custom_module_class: what `mapping` has for the class of `module` under the quantization type of `qconfig`.  Errors: those of
/// getQuantType; a class that is not in the mapping (`custom_module_class`).
llvm::Expected<OperatorName> getSwappedCustomModuleClass(const Module &module, const CustomModuleMapping &mapping, const QConfig &qconfig);

/// get_fqn_to_example_inputs: runs the float model once and returns, by path of the called module, what it was called with: positional
/// arguments, then those given by keyword in their order; the last call wins.  "" stands for the model and its inputs.  Parameters of forward
/// that no call gives are not part of a graph and so not listed; a list or tuple argument counts as its elements.  Errors: those of
/// Program::compile and Program::runAndKeep.
llvm::Expected<std::vector<std::pair<std::string, std::vector<Value>>>> getFqnToExampleInputs(const GraphModule &model,
                                                                                            const NamedTensors &inputs);

} // namespace qfx

#endif // PASSES_QUANTIZATIONUTILS_H
