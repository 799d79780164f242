// Node names: torch.fx's sequences, replayed.
#include "Catch.h"
#include "IrTest.h"

#include "ir/Namespace.h"

#include "llvm/ADT/StringRef.h"

using namespace qfx;

TEST_CASE("names are those torch 2.13 gives") {
  std::string content = readFileOrFail(QFX_GOLDEN_DIR "/names/sequence.txt");
  Namespace names;
  bool snake = false;
  int count = 0, line = 0;
  for (llvm::StringRef rest = content; !rest.empty();) {
    auto [text, more] = rest.split('\n');
    rest = more;
    ++line;
    if (text == "---") {
      names = Namespace();
      continue;
    }
    if (text == "snake") {
      snake = true;
      continue;
    }
    auto [candidate, expected] = text.split('\t');
    INFO("line " << line);
    CHECK((snake ? toSnakeCase(candidate) : names.createName(candidate)) == expected.str());
    ++count;
  }
  CHECK(count == 12 * 80 + 196 + 12);
}

TEST_CASE("reserved names") {
  for (const char *name : {"input", "sum", "lambda", "True", "torch", "inf", "ZeroDivisionError", "zip", "ArithmeticError"})
    CHECK(isReservedName(name));
  for (const char *name : {"x", "self", "match", "conv", "tensor", "None", ""})
    CHECK(!isReservedName(name));
}
