// Loads a configuration file, reports what is wrong with it, prints it.
#include "tools/opt/Configs.h"

#include "backends/config/BackendConfigJson.h"
#include "backends/config/QConfigMapping.h"
#include "tools/common/Tool.h"

#include "llvm/Support/raw_ostream.h"

namespace qfx::tool {

static void reportWarnings(llvm::StringRef toolName, const std::vector<Diagnostic> &warnings) {
  for (const Diagnostic &warning : warnings)
    reportWarning(toolName, warning);
}

int printBackend(llvm::StringRef toolName, llvm::StringRef nameOrPath) {
  std::vector<Diagnostic> warnings;
  auto backend = loadBackendConfig(nameOrPath, warnings);
  reportWarnings(toolName, warnings);
  if (!backend)
    return reportError(toolName, backend.takeError());
  llvm::outs() << writeBackendConfig(*backend);
  return kDone;
}

int checkBackend(llvm::StringRef toolName, llvm::StringRef nameOrPath) {
  std::vector<Diagnostic> warnings;
  auto backend = loadBackendConfig(nameOrPath, warnings);
  reportWarnings(toolName, warnings);
  if (!backend)
    return reportError(toolName, backend.takeError());
  llvm::outs() << nameOrPath << ": " << backend->getConfigs().size() << " entries, no errors\n";
  return kDone;
}

int checkQConfig(llvm::StringRef toolName, llvm::StringRef path) {
  std::vector<Diagnostic> warnings;
  auto mapping = loadQConfigMapping(path, &warnings);
  reportWarnings(toolName, warnings);
  if (!mapping)
    return reportError(toolName, mapping.takeError());
  size_t count = mapping->getObjectTypes().size() + mapping->getModuleNameRegexes().size() + mapping->getModuleNames().size() +
                 mapping->getModuleNameObjectTypeOrders().size();
  llvm::outs() << path << ": global " << (mapping->getGlobal() ? "set" : "none") << ", " << count << " rules, no errors\n";
  return kDone;
}

} // namespace qfx::tool
