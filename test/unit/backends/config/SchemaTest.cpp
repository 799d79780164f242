// The JSON Schemas and the readers agree: 490 mutated documents with the schema's verdict (test/golden/schemas/make.py).
#include "Catch.h"
#include "unit/backends/config/ConfigTestSupport.h"

#include "llvm/ADT/STLExtras.h"

using namespace qfx;
using namespace qfx::test;

namespace {
struct Verdict {
  bool isAccepted;
  std::vector<std::string> errorCodes; ///< without pointers
  std::string lines;
};

Verdict read(const std::string &kind, const std::string &text) {
  Verdict verdict;
  auto judge = [&](const auto &result) {
    verdict.isAccepted = result.value.has_value();
    for (const Diagnostic &diagnostic : result.diagnostics)
      if (diagnostic.severity == Severity::Error)
        verdict.errorCodes.push_back(diagnostic.code.substr(0, diagnostic.code.find(' ')));
    for (const std::string &line : result.lines)
      verdict.lines += line + "\n";
  };
  if (kind == "qconfigs")
    judge(readMapping(text));
  else
    judge(readBackend(text));
  return verdict;
}

/// What a schema cannot say: names, what paths lead to, what a base holds, what constructors refuse, relations between values.
constexpr llvm::StringLiteral kBeyondTheSchema[] = {
    "name-unknown", "dtype-ref-unknown", "duplicate-pattern", "remove-missing", "replace-missing", "add-exists", "extends-unknown",
    "pattern-getattr", "reference-without-root", "qat-pattern", "fuser-pattern", "fuser-arity", "fuser-root", "fuser-needs-fused-module",
    "getter-path", "root-getter-missing", "input-index", "constraint-range", "constraint-conflict", "dtype-dynamic-output",
    "qconfig-unknown", "observer-unknown", "observer-argument", "regex-invalid"};
} // namespace

TEST_CASE("schemas and readers agree about mutated documents", "[backend-config][qconfig]") {
  size_t numCases = 0, numValid = 0, numBeyond = 0;
  for (const auto &set : readGoldenJson("schemas/mutations.json")["sets"]) {
    std::string kind = set["kind"].get<std::string>();
    nlohmann::json base = set["base"];
    REQUIRE(read(kind, base.dump()).isAccepted);
    for (const auto &one : set["cases"]) {
      bool isValid = one[0].get<bool>();
      nlohmann::json patch = one[1];
      Verdict found = read(kind, base.patch(patch).dump());
      INFO(kind << " " << patch.dump() << "\n" << found.lines);
      ++numCases;
      numValid += isValid;
      if (!isValid) {
        CHECK_FALSE(found.isAccepted);
        continue;
      }
      numBeyond += !found.isAccepted;
      for (const std::string &code : found.errorCodes) {
        INFO(code);
        CHECK(llvm::is_contained(kBeyondTheSchema, code));
      }
    }
  }
  CHECK(numCases == 490);
  CHECK(numValid > 150);
  CHECK(numBeyond < numValid / 2); // most of what the schema accepts is accepted
}

TEST_CASE("the examples of the documentation are accepted", "[backend-config][qconfig]") {
  auto readFile = [](const std::string &name) {
    std::ifstream file(std::string(QFX_SOURCE_DIR) + "/docs/" + name);
    REQUIRE(file.good());
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  for (const char *name : {"digits_float_ends", "per_tensor_min_max", "mixed_rules"}) {
    INFO(name);
    auto result = readMapping(readFile(std::string("qconfigs/") + name + ".json"));
    REQUIRE(result.value);
    CHECK(result.lines.empty());
    auto again = readMapping(writeQConfigMapping(*result.value));
    REQUIRE(again.value);
    CHECK(again.value->toString() == result.value->toString());
  }
}
