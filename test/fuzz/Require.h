// How a fuzz target says that a promise is broken.
#ifndef TEST_FUZZ_REQUIRE_H
#define TEST_FUZZ_REQUIRE_H

#include "ir/Diagnostics.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <string>

namespace qfx::fuzz {

inline void requireOrDie(bool condition, llvm::StringRef what, llvm::StringRef details = "") {
  if (condition)
    return;
  llvm::errs() << what << '\n' << details << '\n';
  std::abort();
}

/// Every diagnostic of `err`, printed; dies if there is none.
inline std::string requireMessage(llvm::Error err) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Diagnostic &diagnostic : takeDiagnostics(std::move(err)))
    printDiagnostic(os, diagnostic);
  os.flush();
  requireOrDie(!text.empty(), "an error without a message");
  return text;
}

} // namespace qfx::fuzz

#endif // TEST_FUZZ_REQUIRE_H
