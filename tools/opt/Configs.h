// Printing and checking configuration files.
#ifndef TOOLS_OPT_CONFIGS_H
#define TOOLS_OPT_CONFIGS_H

#include "llvm/ADT/StringRef.h"

namespace qfx::tool {

// Each gives the tool's exit code; warnings and errors go to stderr.

/// A BackendConfig, `extends` resolved, to stdout.
int printBackend(llvm::StringRef toolName, llvm::StringRef nameOrPath);
/// "FILE: N entries, no errors", or everything that is wrong.
int checkBackend(llvm::StringRef toolName, llvm::StringRef nameOrPath);
/// The same for a QConfigMapping file.
int checkQConfig(llvm::StringRef toolName, llvm::StringRef path);

} // namespace qfx::tool

#endif // TOOLS_OPT_CONFIGS_H
