// Loading and running of cases that are texts.
#include "unit/backends/recurrent/RecurrentCases.h"

#include "Catch.h"
#include "ir/weights/Safetensors.h"
#include "unit/ir/IrTest.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace qfx::test {

static Tensor makeInput(const nlohmann::json &input) {
  std::string dims;
  for (const auto &size : input["shape"])
    dims += (dims.empty() ? "" : ", ") + std::to_string(size.get<int64_t>());
  std::string text = "f32[" + dims + "] = random(seed=" + std::to_string(input["seed"].get<int64_t>()) +
                     ", low=" + std::to_string(input["low"].get<double>()) +
                     ", high=" + std::to_string(input["high"].get<double>()) + ")";
  auto tensor = parseTensorText(text, input["name"].get<std::string>());
  if (!tensor)
    FAIL(getMessages(tensor.takeError()));
  return *tensor;
}

std::vector<TextCase> loadTextCases(const std::string &folder) {
  std::string path = std::string(QFX_GOLDEN_DIR) + "/" + folder + "/";
  auto json = nlohmann::json::parse(readFileOrFail(path + "cases.json"));
  auto file = SafetensorsFile::open(path + "outputs.safetensors");
  if (!file)
    FAIL(getMessages(file.takeError()));
  std::vector<TextCase> cases;
  for (const auto &entry : json["cases"]) {
    TextCase one;
    one.name = entry["name"];
    one.text = entry["text"];
    for (const auto &input : entry["inputs"])
      one.inputs.push_back({input["name"], makeInput(input)});
    for (const std::string &key : file->getKeys()) {
      size_t slash = key.find('/');
      if (key.substr(0, slash) != one.name)
        continue;
      auto tensor = file->read(key);
      if (!tensor)
        FAIL(getMessages(tensor.takeError()));
      one.outputs.push_back({key.substr(slash + 1), *tensor});
    }
    cases.push_back(std::move(one));
  }
  return cases;
}

std::vector<NamedValue> runText(const std::string &text, const NamedTensors &inputs, const ProgramOptions &options) {
  GraphModule model = parseOrFail(text);
  auto program = Program::compile(model, options);
  if (!program)
    FAIL(getMessages(program.takeError()));
  auto outputs = (*program)->run(inputs);
  if (!outputs)
    FAIL(getMessages(outputs.takeError()));
  return *outputs;
}

double getWorstError(const std::vector<NamedValue> &outputs, const NamedTensors &expected) {
  REQUIRE(outputs.size() == expected.size());
  double worst = 0;
  for (const auto &[name, wanted] : expected) {
    INFO(name);
    const std::string &key = name;
    auto it = std::find_if(outputs.begin(), outputs.end(), [&](const NamedValue &value) { return value.name == key; });
    REQUIRE(it != outputs.end());
    REQUIRE(it->value.isTensor());
    const Tensor &actual = it->value.tensor;
    REQUIRE(actual.getDType() == wanted.getDType());
    REQUIRE(actual.getSizes() == wanted.getSizes());
    double largest = 0, difference = 0;
    for (int64_t i = 0; i < wanted.getNumElements(); ++i) {
      largest = std::max(largest, std::abs(wanted.getElementAsDouble(i)));
      difference = std::max(difference, std::abs(actual.getElementAsDouble(i) - wanted.getElementAsDouble(i)));
    }
    worst = std::max(worst, largest > 0 ? difference / largest : difference);
  }
  return worst;
}

} // namespace qfx::test
