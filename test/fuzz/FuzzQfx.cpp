// Any bytes as .qfx text: an error with a message, or a model that prints and parses back to itself.
#include "ir/text/QfxText.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace qfx;

static llvm::Expected<GraphModule> parse(std::string text) {
  LoadOptions options;
  options.limits.maxFileBytes = 1 << 20;
  options.limits.maxTensorBytes = options.limits.maxGeneratedBytes = 1 << 16;
  options.weightsDirectory = "/nonexistent"; // the fuzzer reads no files
  return parseQfx(std::make_shared<SourceText>(SourceText{"fuzz.qfx", std::move(text)}), options);
}

static void requireOrDie(bool condition, llvm::StringRef what, llvm::StringRef details) {
  if (condition)
    return;
  llvm::errs() << what << '\n' << details << '\n';
  std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto model = parse(std::string(reinterpret_cast<const char *>(data), size));
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!model) {
    for (const Diagnostic &diagnostic : takeDiagnostics(model.takeError()))
      printDiagnostic(os, diagnostic);
    requireOrDie(!os.str().empty(), "an error without a message", "");
    return 0;
  }
  printQfx(os, *model);
  os.flush();
  if (text.size() > (1 << 20)) // printing wrote more than the limit admits: fills become lists
    return 0;
  auto again = parse(text);
  if (!again) {
    std::string messages;
    llvm::raw_string_ostream stream(messages);
    for (const Diagnostic &diagnostic : takeDiagnostics(again.takeError()))
      printDiagnostic(stream, diagnostic);
    requireOrDie(false, "what was printed does not parse", stream.str() + text);
  }
  std::string why;
  requireOrDie(isIdentical(*model, *again, &why), why, text);
  return 0;
}
