// Broken configuration files draw exactly the complaints written beside them: line, level, code and pointer of each.
#include "Catch.h"
#include "backends/config/ConfigCodes.h"
#include "backends/config/CustomConfig.h"
#include "unit/backends/config/ConfigTestSupport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace qfx;
using namespace qfx::test;

namespace {
struct BrokenCase {
  std::string title, text;
  std::vector<std::string> expected;
};

std::vector<BrokenCase> readCases(const std::string &name) {
  std::ifstream file(std::string(QFX_GOLDEN_DIR) + "/" + name);
  REQUIRE(file.good());
  std::vector<BrokenCase> cases;
  for (std::string line; std::getline(file, line);) {
    llvm::StringRef rest = line;
    if (rest.consume_front("=== "))
      cases.push_back({rest.str(), "", {}});
    else if (rest.consume_front("=> "))
      cases.back().expected.push_back(rest.str());
    else if (!cases.empty() && !rest.trim().empty())
      cases.back().text += line + "\n";
  }
  for (BrokenCase &one : cases)
    if (size_t at = one.text.find("$Q"); at != std::string::npos)
      one.text.replace(at, 2, "\"dtype_configs\": { \"q\": { \"input_dtype\": \"quint8\", \"output_dtype\": \"quint8\" } }");
  return cases;
}

std::vector<std::string> format(llvm::ArrayRef<Diagnostic> diagnostics) {
  std::vector<std::string> lines;
  for (const Diagnostic &diagnostic : diagnostics) {
    auto [code, pointer] = llvm::StringRef(diagnostic.code).split(" #");
    lines.push_back(llvm::formatv("{0} {1} {2} {3}", diagnostic.loc.line, diagnostic.severity == Severity::Error ? "error" : "warning", code,
                                  pointer.empty() ? "-" : pointer));
  }
  return lines;
}

template <class Read> std::set<std::string> checkCases(const std::vector<BrokenCase> &cases, Read read) {
  std::set<std::string> codes;
  for (const BrokenCase &one : cases) {
    auto result = read(one.text);
    // Errors come first in the result; both lists together stand in document order.
    llvm::stable_sort(result.diagnostics, [](const Diagnostic &a, const Diagnostic &b) {
      return std::pair(a.loc.line, a.loc.column) < std::pair(b.loc.line, b.loc.column);
    });
    INFO(one.title << "\n" << one.text << llvm::join(result.lines, "\n"));
    CHECK(format(result.diagnostics) == one.expected);
    bool hasError = llvm::any_of(one.expected, [](const std::string &line) { return line.find(" error ") != std::string::npos; });
    CHECK(result.value.has_value() != hasError); // warnings alone do not make loading fail
    for (const Diagnostic &diagnostic : result.diagnostics) {
      std::string code = diagnostic.code.substr(0, diagnostic.code.find(' '));
      const ConfigCode *row = findConfigCode(code);
      REQUIRE(row);
      CHECK((diagnostic.severity == Severity::Warning) == row->isWarning);
      codes.insert(code);
    }
  }
  return codes;
}
} // namespace

TEST_CASE("broken BackendConfig and QConfigMapping files", "[backend-config][qconfig]") {
  auto backends = readCases("backend_configs/broken.txt"), mappings = readCases("qconfigs/broken.txt");
  CHECK(backends.size() >= 60);
  CHECK(mappings.size() >= 30);
  std::set<std::string> codes = checkCases(backends, [](const std::string &text) { return readBackend(text); });
  codes.merge(checkCases(mappings, [](const std::string &text) { return readMapping(text); }));
  // Two codes need files beside the document: BackendConfigErrorsTest.cpp.
  codes.insert({"extends-cycle", "extends-invalid"});
  for (const ConfigCode &row : getConfigCodes())
    if (row.topic != ConfigTopic::Custom) { // those have tests of their own
      INFO(row.code.str());
      CHECK(codes.count(row.code.str()));
    }
}

TEST_CASE("standalone modules within standalone modules end somewhere", "[custom-config]") {
  std::string open = "{ \"standalone_module_name\": [ { \"name\": \"a\", \"prepare_custom_config\": ", text = "{ \"prepare\": ", close;
  for (int depth = 0; depth < 20; ++depth) {
    text += open;
    close += " } ] }";
  }
  auto config = parseCustomConfig(std::make_shared<SourceText>(SourceText{"c.json", text + "{}" + close + " }"}));
  REQUIRE_FALSE(static_cast<bool>(config));
  std::vector<Diagnostic> errors = takeDiagnostics(config.takeError());
  REQUIRE(errors.size() == 1);
  CHECK(llvm::StringRef(errors.front().code).split(" #").first == "nested-too-deep");
}
