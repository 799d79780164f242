// Spellings of BackendConfig files: observation types, fusers and getters; private to config/.
#ifndef BACKENDS_CONFIG_NAMESDETAIL_H
#define BACKENDS_CONFIG_NAMESDETAIL_H

#include "backends/config/BackendConfig.h"

#include <string>
#include <vector>

namespace qfx {

/// OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT, ...
llvm::StringRef getObservationTypeName(ObservationType type);
std::optional<ObservationType> parseObservationType(llvm::StringRef name);
std::vector<std::string> getObservationTypeNames();

std::vector<std::string> getFuserMethodNames();
/// The shape a named fuser wants and the shape a pattern has, as in FuserMethods.def.
llvm::StringRef getFuserShape(FuserMethod::Kind kind);
std::string getPatternShape(const Pattern &pattern);

/// Paths of `<prefix>_root_node_getter_<side>` and `<prefix>_extra_inputs_getter_<side>`.
std::optional<PatternPath> parseRootGetter(llvm::StringRef name);
std::optional<PatternPath> parseExtraInputsGetter(llvm::StringRef name);
/// The names of the getters that an entry has, by its pattern's shape and its paths; empty if no name stands for them.
std::string findRootGetterName(const BackendPatternConfig &entry);
std::string findExtraInputsGetterName(const BackendPatternConfig &entry);
std::vector<std::string> getRootGetterNames();
std::vector<std::string> getExtraInputsGetterNames();

} // namespace qfx

#endif // BACKENDS_CONFIG_NAMESDETAIL_H
