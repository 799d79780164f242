// Every quantized operator against PyTorch 2.13: codes equal, at level T1 up to ties, floats within 1e-5
// (operators 1.1).
#include "QuantizedCases.h"

#include "Catch.h"

using namespace qfx;
using namespace qfx::test;

TEST_CASE("quantized operators give PyTorch's values", "[quantized][golden]") {
  const std::vector<QuantizedCase> &cases = getQuantizedCases();
  REQUIRE(cases.size() >= 1500);
  for (const QuantizedCase &one : cases) {
    INFO(one.name << "\n" << one.body);
    llvm::Expected<std::vector<NamedValue>> results = runCase(one, /*threads=*/1);
    if (!results) {
      FAIL_CHECK(toText(results.takeError()));
      continue;
    }
    CHECK(compareCase(one, *results) == "");
  }
}
