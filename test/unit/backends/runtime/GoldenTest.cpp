// Small graphs against PyTorch: floats within 1e-5 of the largest magnitude, codes exactly or within a tie
// (operators 1.1).
#include "Catch.h"
#include "GoldenCases.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace qfx;
using namespace qfx::test;

namespace {

std::vector<NamedValue> run(const std::string &name, const ProgramOptions &options) {
  GraphModule model = loadCase(name);
  auto program = Program::compile(model, options);
  if (!program)
    FAIL(name << ": " << toText(program.takeError()));
  auto outputs = (*program)->run(getCaseTensors(name, "in"));
  if (!outputs)
    FAIL(name << ": " << toText(outputs.takeError()));
  return *outputs;
}

/// Operators that dequantize inside a vector kernel may differ by one code at a tie (T1); all others not at all.
bool isTied(const std::string &name) {
  for (const char *part : {"_sigmoid_", "_tanh_", "_hardsigmoid_", "_leaky_relu_", "_hardswish_", "_elu_", "_add_u",
                           "_add_s", "_add_relu_", "_cat_", "mean_c"})
    if (name.find(part) != std::string::npos)
      return true;
  return false;
}

void compareFloats(const Tensor &actual, const Tensor &expected) {
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < expected.getNumElements(); ++i)
    largest = std::max(largest, std::abs(expected.getElementAsDouble(i)));
  for (int64_t i = 0; i < expected.getNumElements(); ++i)
    worst = std::max(worst, std::abs(actual.getElementAsDouble(i) - expected.getElementAsDouble(i)));
  CHECK(worst <= 1e-5 * largest);
}

void compareCodes(const Tensor &actual, const Tensor &expected, bool isTied) {
  double scale = expected.getQuantizer()->getScale();
  CHECK(std::abs(actual.getQuantizer()->getScale() - scale) <= 1e-12 * scale);
  CHECK(actual.getQuantizer()->getZeroPoint() == expected.getQuantizer()->getZeroPoint());
  int64_t different = 0, worst = 0;
  for (int64_t i = 0; i < expected.getNumElements(); ++i) {
    int64_t distance = static_cast<int64_t>(std::abs(actual.getElementAsDouble(i) - expected.getElementAsDouble(i)));
    different += distance != 0;
    worst = std::max(worst, distance);
  }
  CHECK(worst <= (isTied ? 1 : 0));
  CHECK(different <= (isTied ? expected.getNumElements() / 100 : 0)); // ties are rare
}

void checkCase(const std::string &name, int threads) {
  ProgramOptions options;
  options.threads = threads;
  std::vector<NamedValue> outputs = run(name, options);
  NamedTensors expected = getCaseTensors(name, "out");
  REQUIRE(outputs.size() == expected.size());
  for (const NamedValue &output : outputs) {
    INFO(output.name);
    auto it = std::find_if(expected.begin(), expected.end(), [&](const auto &e) { return e.first == output.name; });
    REQUIRE(it != expected.end());
    REQUIRE(output.value.isTensor());
    const Tensor &actual = output.value.tensor;
    REQUIRE(actual.getSizes() == it->second.getSizes());
    REQUIRE(actual.getDType() == it->second.getDType());
    if (isQuantized(actual.getDType()))
      compareCodes(actual, it->second, isTied(name));
    else
      compareFloats(actual, it->second);
  }
}

} // namespace

TEST_CASE("golden graphs give PyTorch's values", "[runtime][golden]") {
  std::vector<std::string> names = getCaseNames("");
  REQUIRE(names.size() > 100);
  for (const std::string &name : names)
    DYNAMIC_SECTION(name) { checkCase(name, /*threads=*/1); }
}

TEST_CASE("the number of threads changes no bit", "[runtime][threads]") {
  for (const std::string &name : getCaseNames("")) {
    INFO(name);
    ProgramOptions options;
    std::vector<NamedValue> one = run(name, options);
    for (int threads : {2, 3}) {
      options.threads = threads;
      std::vector<NamedValue> more = run(name, options);
      REQUIRE(more.size() == one.size());
      for (size_t i = 0; i < one.size(); ++i)
        CHECK(more[i].value.tensor.equals(one[i].value.tensor));
    }
  }
}
