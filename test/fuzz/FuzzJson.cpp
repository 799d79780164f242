// Any bytes as a BackendConfig file.
#include "backends/config/BackendConfigJson.h"
#include "test/fuzz/Require.h"
#include "test/fuzz/Targets.h"

namespace qfx::fuzz {

static llvm::Expected<BackendConfig> parse(std::string text) {
  std::vector<Diagnostic> warnings;
  return parseBackendConfig(std::make_shared<SourceText>(SourceText{"fuzz.json", std::move(text)}), warnings);
}

void fuzzJson(const uint8_t *data, size_t size) {
  auto config = parse(std::string(reinterpret_cast<const char *>(data), size));
  if (!config) {
    requireMessage(config.takeError());
    return;
  }
  std::string text = writeBackendConfig(*config);
  auto again = parse(text);
  if (!again)
    requireOrDie(false, "what was written does not parse", requireMessage(again.takeError()) + text);
  requireOrDie(writeBackendConfig(*again) == text, "writing is not stable", text);
}

} // namespace qfx::fuzz
