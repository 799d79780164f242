// Any bytes as .qfx text.
#include "ir/text/QfxText.h"
#include "test/fuzz/Require.h"
#include "test/fuzz/Targets.h"

namespace qfx::fuzz {

static llvm::Expected<GraphModule> parse(std::string text) {
  LoadOptions options;
  options.limits.maxFileBytes = 1 << 20;
  options.limits.maxTensorBytes = options.limits.maxGeneratedBytes = 1 << 16;
  options.weightsDirectory = "/nonexistent"; // the fuzzer reads no files
  return parseQfx(std::make_shared<SourceText>(SourceText{"fuzz.qfx", std::move(text)}), options);
}

void fuzzQfx(const uint8_t *data, size_t size) {
  auto model = parse(std::string(reinterpret_cast<const char *>(data), size));
  if (!model) {
    requireMessage(model.takeError());
    return;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  printQfx(os, *model);
  os.flush();
  if (text.size() > (1 << 20)) // printing wrote more than the limit admits: fills become lists
    return;
  auto again = parse(text);
  if (!again)
    requireOrDie(false, "what was printed does not parse", requireMessage(again.takeError()) + text);
  std::string why;
  requireOrDie(isIdentical(*model, *again, &why), why, text);
}

} // namespace qfx::fuzz
