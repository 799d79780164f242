// Decomposed LSTM and attention modules, observed in float and quantized, against PyTorch (operators 20).
#include "Catch.h"
#include "unit/backends/recurrent/RecurrentCases.h"
#include "unit/ir/IrTest.h"

#include <algorithm>
#include <cmath>

using namespace qfx;
using namespace qfx::test;

namespace {

bool isCode(const TextCase &one) { return one.name.find("_quantized") != std::string::npos; }

const Tensor *find(const NamedTensors &tensors, const std::string &name) {
  for (const auto &[key, tensor] : tensors)
    if (key == name)
      return &tensor;
  return nullptr;
}

const Tensor *find(const std::vector<NamedValue> &values, const std::string &name) {
  for (const NamedValue &value : values)
    if (value.name == name && value.value.isTensor())
      return &value.value.tensor;
  return nullptr;
}

/// Codes, scale and zero point are PyTorch's, every one.
void checkCodes(const std::vector<NamedValue> &outputs, const NamedTensors &expected) {
  size_t compared = 0;
  for (const auto &[name, wanted] : expected) {
    if (name.find('/') != std::string::npos)
      continue;
    INFO(name);
    const Tensor *actual = find(outputs, name);
    REQUIRE(actual);
    REQUIRE(actual->getDType() == DType::QUInt8);
    REQUIRE(actual->getSizes() == wanted.getSizes());
    double scale = find(expected, name + "/scale")->getElementAsDouble(0);
    CHECK(std::abs(actual->getQuantizer()->getScale() - scale) <= 1e-7 * scale);
    CHECK(static_cast<double>(actual->getQuantizer()->getZeroPoint()) ==
          find(expected, name + "/zero_point")->getElementAsDouble(0));
    int64_t different = 0;
    for (int64_t i = 0; i < wanted.getNumElements(); ++i)
      different += actual->getElementAsDouble(i) != wanted.getElementAsDouble(i);
    CHECK(different == 0);
    ++compared;
  }
  CHECK(compared > 0);
}

NamedTensors withoutQParams(const NamedTensors &expected) {
  NamedTensors result;
  for (const auto &[name, tensor] : expected)
    if (name.find('/') == std::string::npos)
      result.push_back({name, tensor});
  return result;
}

} // namespace

TEST_CASE("decomposed modules give PyTorch's values", "[quantizable][golden]") {
  std::vector<TextCase> cases = loadTextCases("quantizable");
  REQUIRE(cases.size() >= 14);
  for (const TextCase &one : cases)
    DYNAMIC_SECTION(one.name) {
      std::vector<NamedValue> outputs = runText(one.text, one.inputs);
      outputs.erase(
          std::remove_if(outputs.begin(), outputs.end(), [](const NamedValue &v) { return !v.value.isTensor(); }),
          outputs.end()); // attention without weights yields None for them
      if (isCode(one))
        checkCodes(outputs, one.outputs);
      else
        CHECK(getWorstError(outputs, withoutQParams(one.outputs)) <= 1e-5);
    }
}

TEST_CASE("the number of threads changes no bit of a decomposed module", "[quantizable][threads]") {
  for (const TextCase &one : loadTextCases("quantizable")) {
    INFO(one.name);
    std::vector<NamedValue> single = runText(one.text, one.inputs);
    for (int threads : {2, 3}) {
      ProgramOptions options;
      options.threads = threads;
      std::vector<NamedValue> more = runText(one.text, one.inputs, options);
      REQUIRE(more.size() == single.size());
      for (size_t i = 0; i < single.size(); ++i)
        if (single[i].value.isTensor())
          CHECK(more[i].value.tensor.equals(single[i].value.tensor));
    }
  }
}

TEST_CASE("a decomposed module without its children is refused", "[quantizable]") {
  GraphModule model = parseOrFail("qfx 1\nmodule m : torch.ao.nn.quantizable.LSTM(input_size=3, hidden_size=4)\n"
                                  "graph(%x : f32[5, 2, 3]) {\n  %r = call_module[m](%x)\n  return %r\n}\n");
  auto program = Program::compile(model);
  REQUIRE_FALSE(static_cast<bool>(program));
  CHECK_THAT(getMessages(program.takeError()), Catch::Contains("its child 'layers.0.layer_fw.cell.igates' is missing"));
}
