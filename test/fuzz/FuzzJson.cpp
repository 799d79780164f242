// Any bytes as a backend config: errors with messages, or a config.
#include "backends/config/BackendConfigJson.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace qfx;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<Diagnostic> warnings;
  auto source = std::make_shared<SourceText>(
      SourceText{"fuzz.json", std::string(reinterpret_cast<const char *>(data), size)});
  auto config = parseBackendConfig(source, warnings);
  if (config)
    return 0;
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Diagnostic &diagnostic : takeDiagnostics(config.takeError()))
    printDiagnostic(os, diagnostic);
  if (os.str().empty())
    std::abort();
  return 0;
}
