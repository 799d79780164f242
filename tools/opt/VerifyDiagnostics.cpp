// Expected diagnostics of invalid-input tests.
#include "tools/opt/VerifyDiagnostics.h"

#include "llvm/Support/raw_ostream.h"

namespace qfx::tool {

namespace {
struct Expectation {
  Severity severity;
  int64_t line;
  std::string text;
  uint32_t writtenAt;
  bool isMet = false;
};
} // namespace

/// Reads `@+1`, `@-2`, `@7` off `rest`; the line of the comment if there is none.
static int64_t parseLine(llvm::StringRef &rest, int64_t ownLine) {
  if (!rest.consume_front("@"))
    return ownLine;
  bool plus = rest.consume_front("+"), minus = !plus && rest.consume_front("-");
  int64_t number = 0;
  rest.consumeInteger(10, number);
  return plus ? ownLine + number : minus ? ownLine - number : number;
}

static std::vector<Expectation> parseExpectations(llvm::StringRef text) {
  static const std::pair<llvm::StringLiteral, Severity> kKinds[] = {
      {"expected-error", Severity::Error}, {"expected-warning", Severity::Warning}, {"expected-remark", Severity::Remark}};
  std::vector<Expectation> all;
  uint32_t lineNumber = 0;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    ++lineNumber;
    for (const auto &[keyword, severity] : kKinds)
      for (llvm::StringRef tail = line; tail.contains(keyword);) {
        tail = tail.drop_front(tail.find(keyword) + keyword.size());
        int64_t at = parseLine(tail, lineNumber);
        size_t open = tail.find("{{"), close = tail.find("}}");
        if (open == llvm::StringRef::npos || close == llvm::StringRef::npos || close < open)
          break;
        all.push_back({severity, at, tail.slice(open + 2, close).str(), lineNumber});
        tail = tail.drop_front(close + 2);
      }
  }
  return all;
}

bool verifyDiagnostics(const SourceText &source, const std::vector<Diagnostic> &reported) {
  std::vector<Expectation> expected = parseExpectations(source.text);
  bool agrees = !expected.empty();
  if (expected.empty())
    llvm::errs() << source.name << ": error: the file expects no diagnostics\n";
  for (const Diagnostic &diagnostic : reported) {
    std::string text = diagnostic.message + " [" + diagnostic.code + "]";
    bool isKnown = false;
    for (Expectation &expectation : expected) {
      if (expectation.isMet || expectation.severity != diagnostic.severity || expectation.line != diagnostic.loc.line ||
          !llvm::StringRef(text).contains(expectation.text))
        continue;
      expectation.isMet = isKnown = true;
      break;
    }
    if (isKnown)
      continue;
    agrees = false;
    llvm::errs() << "unexpected: ";
    printDiagnostic(llvm::errs(), diagnostic);
  }
  for (const Expectation &expectation : expected)
    if (!expectation.isMet) {
      agrees = false;
      llvm::errs() << source.name << ':' << expectation.writtenAt << ": error: expected at line " << expectation.line << ", but not reported: "
                   << expectation.text << '\n';
    }
  return agrees;
}

} // namespace qfx::tool
