// Weight-only linear layers against double precision, given as modules or made by the pass: T2, threads, a float twin.
#include "Catch.h"
#include "passes/weightonly/WeightOnlyLinear.h"
#include "unit/backends/recurrent/RecurrentCases.h"
#include "unit/ir/IrTest.h"

#include <nlohmann/json.hpp>

using namespace qfx;
using namespace qfx::test;

namespace {

std::vector<NamedValue> runModel(const GraphModule &model, const NamedTensors &inputs, int threads) {
  ProgramOptions options;
  options.threads = threads;
  auto program = Program::compile(model, options);
  if (!program)
    FAIL(getMessages(program.takeError()));
  auto outputs = (*program)->run(inputs);
  if (!outputs)
    FAIL(getMessages(outputs.takeError()));
  return *outputs;
}

/// The options of each `pass_*` case, by name.
nlohmann::json getOptions() {
  auto json = nlohmann::json::parse(readFileOrFail(std::string(QFX_GOLDEN_DIR) + "/weight_only/cases.json"));
  nlohmann::json options;
  for (const auto &entry : json["cases"])
    if (entry.contains("options"))
      options[entry["name"].get<std::string>()] = entry["options"];
  return options;
}

} // namespace

TEST_CASE("weight-only linear layers give the values of double precision", "[weightonly][golden]") {
  nlohmann::json options = getOptions();
  std::vector<TextCase> cases = loadTextCases("weight_only");
  REQUIRE(cases.size() >= 42);
  for (const TextCase &one : cases)
    DYNAMIC_SECTION(one.name) {
      GraphModule model = parseOrFail(one.text);
      if (options.contains(one.name)) {
        const auto &given = options[one.name];
        PassContext context;
        auto changed = quantizeLinearWeights(model, {given["bits"], given["group_size"], given["symmetric"]}, context);
        if (!changed)
          FAIL(getMessages(changed.takeError()));
        REQUIRE(*changed);
      }
      std::vector<NamedValue> single = runModel(model, one.inputs, 1);
      CHECK(getWorstError(single, one.outputs) <= 1e-5);
      for (int threads : {2, 3})
        CHECK(runModel(model, one.inputs, threads)[0].value.tensor.equals(single[0].value.tensor));
    }
}

TEST_CASE("modules that calls share stay one weight-only module", "[weightonly]") {
  GraphModule model = parseOrFail("qfx 1\nmodule a : torch.nn.Linear(in_features=4, out_features=4)\n"
                                  "parameter a.weight : f32[4, 4] = random(seed=1)\nparameter a.bias : f32[4] = 0\n"
                                  "module b = a\ngraph(%x : f32[N, 4]) {\n  %a = call_module[a](%x)\n"
                                  "  %b = call_module[b](%a)\n  %c = call_module[a](%b)\n  return %c\n}\n");
  PassContext context;
  auto changed = quantizeLinearWeights(model, {}, context);
  REQUIRE((changed && *changed));
  CHECK(model.getRoot().findModule("a") == model.getRoot().findModule("b"));
  CHECK(model.getRoot().findModule("a")->getClassName() == "qfx.nn.WeightOnlyLinear");
}
