// Any bytes as a QConfigMapping file.
#include "backends/config/QConfigMapping.h"
#include "test/fuzz/Require.h"
#include "test/fuzz/Targets.h"

namespace qfx::fuzz {

static llvm::Expected<QConfigMapping> parse(std::string text) {
  return parseQConfigMapping(std::make_shared<SourceText>(SourceText{"fuzz.json", std::move(text)}));
}

void fuzzQConfig(const uint8_t *data, size_t size) {
  auto mapping = parse(std::string(reinterpret_cast<const char *>(data), size));
  if (!mapping) {
    requireMessage(mapping.takeError());
    return;
  }
  std::string text = writeQConfigMapping(*mapping);
  auto again = parse(text);
  if (!again)
    requireOrDie(false, "what was written does not parse", requireMessage(again.takeError()) + text);
  requireOrDie(writeQConfigMapping(*again) == text, "writing is not stable", text);
}

} // namespace qfx::fuzz
