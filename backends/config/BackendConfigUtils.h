// Views of a BackendConfig and its entries as text: torch.ao.quantization.backend_config.utils.
#ifndef BACKENDS_CONFIG_BACKENDCONFIGUTILS_H
#define BACKENDS_CONFIG_BACKENDCONFIGUTILS_H

#include "backends/config/BackendConfig.h"

namespace qfx {

// backend_config.md 10; keys are internal patterns, order is that of the map.  The module views are members of BackendConfig.  Results borrow
// from the configuration, which must outlive them unchanged.
template <class T> using PatternView = std::vector<std::pair<const Pattern *, T>>;

/// get_pattern_to_dtype_configs: every entry, empty lists included.
PatternView<llvm::ArrayRef<DTypeConfig>> getPatternToDTypeConfigs(const BackendConfig &config);
/// get_pattern_to_input_type_to_index: every entry, empty maps included.
PatternView<const std::map<std::string, unsigned> *> getPatternToInputTypeToIndex(const BackendConfig &config);
/// get_fuser_method_mapping: entries with a fuser.  A fuser takes its modules at the paths of the internal pattern, so that no reversed form is
/// needed.  A fuser on a single operator is an error (`fuser-pattern`).
llvm::Expected<PatternView<const FuserMethod *>> getFuserMethodMapping(const BackendConfig &config);
/// get_fusion_pattern_to_root_node_getter: entries that say where their root stands.
PatternView<PatternPath> getFusionPatternToRootNodePath(const BackendConfig &config);
/// get_fusion_pattern_to_extra_inputs_getter: entries with further inputs.
PatternView<llvm::ArrayRef<PatternPath>> getFusionPatternToExtraInputPaths(const BackendConfig &config);

/// remove_boolean_dispatch_from_name: the full name, also of functions that PyTorch makes with boolean_dispatch (max_pool2d and its kin), whose
/// Python names say nothing.
std::string removeBooleanDispatchFromName(const OperatorName &op);
/// pattern_to_human_readable: an operator, or a tuple in data-flow order; a complex pattern in its internal form.
std::string patternToHumanReadable(const BackendPatternConfig &entry);
/// entry_to_pretty_str: the entry as PyTorch prints the dict of it, with canonical names for classes and functions.
std::string entryToPrettyStr(const BackendPatternConfig &entry);

/// get_test_only_legacy_native_backend_config: native with static float16 as a further alternative of linear, binary, fixed and sharing entries.
BackendConfig getTestOnlyLegacyNativeBackendConfig();

} // namespace qfx

#endif // BACKENDS_CONFIG_BACKENDCONFIGUTILS_H
