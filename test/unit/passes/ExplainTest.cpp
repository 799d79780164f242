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

/// What is said of `name` in a model of one weighted module, under `options`.
static std::string explainIn(const char *text, const std::string &name, PrepareOptions options) {
  GraphModule model = parseModel(text);
  TestContext test;
  return require(explainNode(model, name, test.context, options));
}

TEST_CASE("explain: entries whose nodes fusion has used are not named", "[explain]") {
  const char *text = R"(module conv : torch.nn.Conv2d(in_channels=1, out_channels=1, kernel_size=(1, 1), bias=False)
module bn : torch.nn.BatchNorm2d(num_features=1)
module pool : torch.nn.MaxPool2d(kernel_size=1)
parameter conv.weight : f32[1, 1, 1, 1] = [[[[2.0]]]]
parameter bn.weight : f32[1] = [1.0]
parameter bn.bias : f32[1] = [0.0]
buffer bn.running_mean : f32[1] = [0.0]
buffer bn.running_var : f32[1] = [1.0]
buffer bn.num_batches_tracked : i64[] = 0
graph(%x : f32[1, 1, 2, 2]) {
  %conv = call_module[conv](%x)
  %bn = call_module[bn](%conv)
  %pool = call_module[pool](%bn)
  return %pool
}
)";
  TestContext test;
  PrepareOptions options = require(withMapping({}, test.context));
  for (const char *name : {"conv", "bn"}) {
    std::string told = explainIn(text, name, options);
    checkContains(told, "  fused: with 'bn' into 'conv', a call of 'torch.nn.Conv2d'\n");
    checkContains(told, "    torch.nn.Conv2d: taken\n");
    checkContains(told, "    (torch.nn.Conv2d, torch.nn.ReLU): does not match: 'pool' is 'torch.nn.MaxPool2d', not 'torch.nn.ReLU'\n"); // never did
    CHECK(told.find("(torch.nn.Conv2d, torch.nn.BatchNorm2d):") == std::string::npos);
  }
}

TEST_CASE("explain: quantization-aware training", "[explain]") {
  PrepareOptions options;
  options.isQat = true;
  TestContext test;
  std::string text = explainIn(kModel, "conv", require(withMapping(options, test.context)));
  checkContains(text, "  trained as: 'torch.ao.nn.qat.Conv2d'\n");
  checkContains(text, "    activation: {'class': 'FusedMovingAvgObsFakeQuantize', ");
  checkContains(text, "    torch.ao.nn.qat.Conv2d: taken\n      dtype config 0 (weighted_int8): fits\n");
  checkContains(text, "  prepare: inputs observed by 'activation_post_process_0' (FusedMovingAvgObsFakeQuantize); output observed by "
                      "'activation_post_process_1' (FusedMovingAvgObsFakeQuantize)\n");
  checkContains(text, "  convert: reference module 'torch.ao.nn.quantized.reference.Conv2d', weight qint8\n");
}

TEST_CASE("explain: dynamic, float16 and weight-only mappings", "[explain]") {
  const char *linear = R"(module fc : torch.nn.Linear(in_features=1, out_features=1, bias=False)
parameter fc.weight : f32[1, 1] = [[2.0]]
graph(%x : f32[2, 1]) {
  %fc = call_module[fc](%x)
  return %fc
}
)";
  const char *embedding = R"(module emb : torch.nn.Embedding(num_embeddings=2, embedding_dim=2)
parameter emb.weight : f32[2, 2] = [[1.0, 2.0], [3.0, 4.0]]
graph(%x : i64[3]) {
  %emb = call_module[emb](%x)
  return %emb
}
)";
  PrepareOptions options;
  options.mapping = *getMappingOfKind("dynamic");
  std::string dynamic = explainIn(linear, "fc", options);
  checkContains(dynamic, "    activation: default_dynamic_quant_observer -> quint8 dynamic 0..255\n");
  checkContains(dynamic, "      dtype config 0 (weighted_int8): ");
  checkContains(dynamic, "      dtype config 1 (dynamic_int8): fits\n      dtype config 2 (dynamic_fp16): not needed\n");
  checkContains(dynamic, "  prepare: inputs observed by 'activation_post_process_0' (PlaceholderObserver); output not observed\n");
  checkContains(dynamic, "  convert: reference module 'torch.ao.nn.quantized.reference.Linear', weight qint8\n");
  CHECK(dynamic.find("remark") == std::string::npos);

  options.mapping = *getMappingOfKind("float16");
  std::string half = explainIn(linear, "fc", options);
  checkContains(half, "      dtype config 2 (dynamic_fp16): fits\n");
  checkContains(half, "  convert: reference module 'torch.ao.nn.quantized.reference.Linear', weight float16\n");

  options.mapping = *getMappingOfKind("weight-only");
  std::string weightOnly = explainIn(embedding, "emb", options);
  checkContains(weightOnly, "  qconfig: float_qparams_weight_only_qconfig, from the object_type entry 'torch.nn.Embedding'\n");
  checkContains(weightOnly, "      dtype config 0 (weight_only_quint8): fits\n");
  checkContains(weightOnly, "  prepare: inputs not observed; output not observed\n");
  checkContains(weightOnly, "  convert: reference module 'torch.ao.nn.quantized.reference.Embedding', weight quint8\n");
  // a mapping that the backend does not take for an embedding
  options.mapping = *getMappingOfKind("dynamic");
  std::string refused = explainIn(embedding, "emb", options);
  checkContains(refused, "  remark: 'emb' not observed: activation dtype 'quint8' (dynamic) matches no dtype_config of 'torch.nn.Embedding'\n");
  CHECK(refused.find("convert: reference") == std::string::npos);
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
