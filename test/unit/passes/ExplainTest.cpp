// --explain: one line per entry that names the operator, with the reason; what prepare did; errors.
#include "passes/debug/Explain.h"
#include "unit/passes/PassTest.h"

using namespace qfx;

static const char *kModel = R"(module conv : torch.nn.Conv2d(in_channels=1, out_channels=1, kernel_size=(1, 1), bias=False)
module tanh : torch.nn.Tanh()
module relu : torch.nn.ReLU()
parameter conv.weight : f32[1, 1, 1, 1] = [[[[2.0]]]]
graph(%x : f32[1, 1, 2, 2]) {
  %conv = call_module[conv](%x)
  %relu = call_module[relu](%conv)
  %tanh = call_module[tanh](%conv)
  %add = call_function[torch.add](%relu, %tanh)
  return %add
}
)";

static std::string explain(const std::string &name, const QConfigMapping *mapping = nullptr) {
  GraphModule model = parseModel(kModel);
  TestContext test;
  if (mapping)
    test.context.qconfigMapping = *mapping;
  PrepareOptions options = require(withMapping({}, test.context));
  std::string text = require(explainNode(model, name, test.context, options));
  CHECK(getCalls(model) == "conv=conv relu=relu tanh=tanh add=torch.add"); // left as it was
  return text;
}

static void checkContains(const std::string &text, const std::string &line) {
  INFO(text);
  CHECK(text.find(line) != std::string::npos);
}

TEST_CASE("explain: entries in matching order, each with its reason", "[explain]") {
  std::string text = explain("conv");
  checkContains(text, "'conv': call_module of 'torch.nn.Conv2d' at 'conv', test.qfx:7:3\n");
  checkContains(text, "  qconfig: from the global entry\n");
  checkContains(text, "-> quint8 0..127\n");
  checkContains(text, "    (torch.nn.Conv2d, torch.nn.ReLU): does not match: 'conv' has 2 users\n");
  checkContains(text, "    (torch.nn.Conv2d, torch.nn.BatchNorm2d): does not match: 'relu' is 'torch.nn.ReLU', not 'torch.nn.BatchNorm2d'\n");
  checkContains(text, "    torch.nn.Conv2d: taken\n      dtype config 0 (weighted_int8): fits\n");
  checkContains(text, "  prepare: inputs observed by 'activation_post_process_0' (HistogramObserver); output observed by 'activation_post_process_1' (HistogramObserver)\n");
}

TEST_CASE("explain: a refused dtype config, the rule and the remark", "[explain]") {
  QConfigMapping mapping;
  mapping.setGlobal(findQConfigAlias("default_qconfig"));
  std::string text = explain("tanh", &mapping);
  checkContains(text, "  qconfig: default_qconfig, from the global entry\n");
  checkContains(text, "    torch.nn.Tanh: taken\n      dtype config 0 (fixed_neg1to1_weighted_int8): the operator has fixed parameters (scale 0.0078125, zero_point 128)");
  checkContains(text, "  remark: 'tanh' not observed: ");
  checkContains(text, "  warning: 'tanh' not observed: ");
}

TEST_CASE("explain: switched off, no operator, no node", "[explain]") {
  QConfigMapping mapping;
  mapping.setGlobal(findQConfigAlias("default_qconfig")).setModuleName("conv", std::nullopt);
  checkContains(explain("conv", &mapping), "  qconfig: none, from the module_name entry 'conv'\n");
  checkContains(explain("x"), "  no operator: its consumers decide about it\n");
  GraphModule model = parseModel(kModel);
  TestContext test;
  CHECK(getError(explainNode(model, "convv", test.context, {})) == "no node is named 'convv'; did you mean 'conv'? [usage]");
}
