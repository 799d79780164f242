// The pieces of the BackendConfig reader; private to config/.
#ifndef BACKENDS_CONFIG_BACKENDREADERDETAIL_H
#define BACKENDS_CONFIG_BACKENDREADERDETAIL_H

#include "backends/config/BackendConfig.h"
#include "backends/config/JsonDocument.h"

namespace qfx {

/// Named dtype configs in document order.
using NamedDTypeConfigs = std::vector<std::pair<std::string, DTypeConfig>>;
const DTypeConfig *findDTypeConfig(const NamedDTypeConfigs &named, llvm::StringRef name);

/// An entry and where it stands in its file.
struct ReadEntry {
  BackendPatternConfig config;
  JsonCursor cursor;
};

// Each reader complains through the cursor's report and gives nothing where it could not read on (5.2 - 5.4).

/// A method, function or module class by name.
std::optional<OperatorName> readOperator(const JsonCursor &cursor);
/// A name that must be a module class.
std::optional<OperatorName> readModuleClass(const JsonCursor &cursor);
/// The value of `pattern`.
std::optional<Pattern> readSimplePattern(const JsonCursor &cursor);
/// The value of `pattern_complex_format`.
std::optional<Pattern> readComplexPattern(const JsonCursor &cursor);
/// An index sequence.
std::optional<PatternPath> readPath(const JsonCursor &cursor);
DTypeConfig readDTypeConfig(const JsonCursor &cursor);
/// A whole entry; nothing if it has no readable pattern.
std::optional<ReadEntry> readEntry(const JsonCursor &cursor, const NamedDTypeConfigs &named);

/// Warnings that need the whole list (root-reference-conflict, qat- and fused-module-unconfigured) about the entries `own`.
void checkAcrossEntries(const std::vector<ReadEntry> &own, const BackendConfig &all);

} // namespace qfx

#endif // BACKENDS_CONFIG_BACKENDREADERDETAIL_H
