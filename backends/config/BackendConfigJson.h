// BackendConfig files: reading with places and suggestions, writing.
#ifndef BACKENDS_CONFIG_BACKENDCONFIGJSON_H
#define BACKENDS_CONFIG_BACKENDCONFIGJSON_H

#include "backends/config/BackendConfig.h"
#include "ir/Diagnostics.h"

#include <vector>

namespace qfx {

/// Parses a document (backend_config.md 3-5).  `text.name` is the file name that messages show and that relative `extends` start from.
/// All errors come together; warnings go to `warnings`.
llvm::Expected<BackendConfig> parseBackendConfig(std::shared_ptr<const SourceText> text, std::vector<Diagnostic> &warnings);

/// A built-in name or a path ending in .json; unknown names get a suggestion.
llvm::Expected<BackendConfig> loadBackendConfig(llvm::StringRef nameOrPath, std::vector<Diagnostic> &warnings);

/// The document that parses back to an equal object: keys in the order of 1.4, unset and empty fields left out.
std::string writeBackendConfig(const BackendConfig &config);

/// The complaints that a file with this content would draw, for configurations built in code: errors together, warnings to `warnings`.
llvm::Error checkBackendConfig(const BackendConfig &config, std::vector<Diagnostic> &warnings);

} // namespace qfx

#endif // BACKENDS_CONFIG_BACKENDCONFIGJSON_H
