// The prepare pass: observers, sharing, support test, remarks.
#include "passes/prepare/Prepare.h"
#include "PassTest.h"
#include "passes/fuse/Fuse.h"
#include "passes/prepare/DerivedObserver.h"
#include "passes/prepare/PreparedState.h"

using namespace qfx;

static const char *kFc = "module fc : torch.nn.Linear(in_features=2, out_features=2, bias=False)\n"
                         "parameter fc.weight : f32[2, 2] = [[1.0, 0.0], [0.0, 1.0]]\n";

static QConfig makeQConfig(const std::string &alias) {
  std::optional<QConfig> qconfig = findQConfigAlias(alias);
  REQUIRE(qconfig);
  return *qconfig;
}

static PrepareOptions withGlobal(const std::string &alias) {
  PrepareOptions options;
  options.mapping.setGlobal(makeQConfig(alias));
  return options;
}

static GraphModule prepareText(TestContext &context, const std::string &text, PrepareOptions options) {
  GraphModule model = parseModel(text);
  require(fuse(model, FuseOptions(), context.context));
  require(prepare(model, options, context.context));
  return model;
}

static PrepareOptions withDefaults() {
  PrepareOptions options;
  options.mapping = require(getDefaultQConfigMapping("x86"));
  return options;
}

static ModuleRef observer(const GraphModule &model, unsigned number) {
  return model.getRoot().findModule("activation_post_process_" + std::to_string(number));
}

TEST_CASE("scalar add, sub and mul get derived observers", "[prepare]") {
  struct Case {
    const char *call, *op;
    double constant;
  };
  Case test = GENERATE(
      Case{"call_function[operator.add](%fc, 2.0)", "add", 2}, Case{"call_function[operator.add](3, %fc)", "add", 3},
      Case{"call_function[operator.mul](%fc, 1000)", "mul", 1000}, Case{"call_function[torch.mul](-2, %fc)", "mul", -2},
      Case{"call_function[torch.add](%fc, other=2.0)", "add", 2});
  TestContext context;
  GraphModule model =
      prepareText(context,
                  std::string(kFc) + "graph(%x : f32[1, 2]) {\n  %fc = call_module[fc](%x)\n  %y = " + test.call +
                      "\n  return %y\n}\n",
                  withDefaults());
  ModuleRef derived = observer(model, 2);
  REQUIRE(derived);
  CHECK(isDerivedObserver(*derived));
  CHECK(derived->getAttribute("source").getString() == "activation_post_process_1");
  CHECK(derived->getAttribute("op").getString() == test.op);
  CHECK(derived->getAttribute("constant").getNumber() == test.constant);
  CHECK(derived->getAttribute("dtype").getDType() == DType::QUInt8);
  CHECK_FALSE(model.getGraph().findNode("y")->findMeta(kOwnQParamsMeta));
}

TEST_CASE("executorch: x - c is derived, c - x keeps its own observer", "[prepare]") {
  bool isFirst = GENERATE(true, false);
  TestContext context("executorch");
  PrepareOptions options;
  options.mapping = getSymmetricQnnpackQConfigMapping();
  GraphModule model = prepareText(context,
                                  std::string(kFc) +
                                      "graph(%x : f32[1, 2]) {\n  %fc = call_module[fc](%x)\n  %y = "
                                      "call_function[operator.sub](" +
                                      (isFirst ? "2, %fc" : "%fc, 2") + ")\n  return %y\n}\n",
                                  options);
  ModuleRef output = observer(model, 2);
  REQUIRE(output);
  CHECK(isDerivedObserver(*output) == !isFirst);
  CHECK(bool(model.getGraph().findNode("y")->findMeta(kOwnQParamsMeta)) == isFirst);
  if (isFirst)
    CHECK(output != observer(model, 1));
}

TEST_CASE("alpha and run-time scalars keep an observer of their own", "[prepare]") {
  std::string call =
      GENERATE(as<std::string>(), "call_function[torch.add](%fc, 2, alpha=3)", "call_function[operator.add](%fc, %n)");
  TestContext context;
  GraphModule model = prepareText(context,
                                  std::string(kFc) +
                                      "graph(%x : f32[1, 2]) {\n  %n = call_method[size](%x, 0)\n  %fc = "
                                      "call_module[fc](%x)\n  %y = " +
                                      call + "\n  return %y\n}\n",
                                  withDefaults());
  CHECK(observer(model, 2)->getClassName() == "torch.ao.quantization.observer.HistogramObserver");
  CHECK(observer(model, 2) != observer(model, 1));
  CHECK(model.getGraph().findNode("y")->findMeta(kOwnQParamsMeta));
}

TEST_CASE("a scalar result that joins a cat has an ordinary observer", "[prepare]") {
  std::string list = GENERATE(as<std::string>(), "%y, %fc", "%fc, %y");
  TestContext context;
  GraphModule model = prepareText(context,
                                  std::string(kFc) +
                                      "graph(%x : f32[1, 2]) {\n  %fc = call_module[fc](%x)\n  %y = "
                                      "call_function[operator.mul](%fc, 2.0)\n  %cat = call_function[torch.cat]([" +
                                      list + "], 1)\n  return %cat\n}\n",
                                  withDefaults());
  ModuleRef shared = observer(model, 3);
  CHECK(shared->getClassName() == "torch.ao.quantization.observer.HistogramObserver");
  CHECK(observer(model, 1) == shared);
  CHECK(observer(model, 2) == shared);
  CHECK(model.getGraph().findNode("y")->findMeta(kOwnQParamsMeta));
}

TEST_CASE("a pooling after a scalar op shares the derived observer", "[prepare]") {
  TestContext context;
  GraphModule model =
      prepareText(context,
                  std::string(kFc) + "graph(%x : f32[1, 2]) {\n  %fc = call_module[fc](%x)\n  %y = "
                                     "call_function[operator.mul](%fc, 2.0)\n  %r = call_method[relu](%y)\n"
                                     "  return %r\n}\n",
                  withDefaults());
  CHECK(observer(model, 3) == observer(model, 2));
  CHECK(isDerivedObserver(*observer(model, 3)));
}

TEST_CASE("chain of sharing ops has one observer; cat binds all its inputs", "[prepare]") {
  TestContext context;
  GraphModule model =
      prepareText(context,
                  std::string(kFc) + "module other : torch.nn.Linear(in_features=2, out_features=2, bias=False)\n"
                                     "parameter other.weight : f32[2, 2] = [[1.0, 0.0], [0.0, 1.0]]\n"
                                     "graph(%x : f32[1, 2]) {\n  %fc = call_module[fc](%x)\n  %other = "
                                     "call_module[other](%x)\n  %cat = call_function[torch.cat]([%fc, %other], 1)\n"
                                     "  %f = call_function[torch.flatten](%cat, 1)\n  return %f\n}\n",
                  withDefaults());
  CHECK(observer(model, 1) == observer(model, 2));
  CHECK(observer(model, 1) == observer(model, 3));
  CHECK(observer(model, 1) == observer(model, 4));
  CHECK(observer(model, 0) != observer(model, 1));
}

// QUIRK of workflow 4.7: float op -> reshape -> linear.
TEST_CASE("a failed sharing removes the output observer and its consumer gets none", "[prepare]") {
  TestContext context;
  GraphModule model =
      prepareText(context,
                  std::string(kFc) + "graph(%x : f32[1, 2]) {\n  %s = call_function[torch.sign](%x)\n  %r = "
                                     "call_method[reshape](%s, 1, 2)\n  %fc = call_module[fc](%r)\n  return %fc\n}\n",
                  withDefaults());
  CHECK(getCalls(model) == "s=torch.sign r=reshape fc=fc activation_post_process_1=activation_post_process_1");
}

TEST_CASE("inputs and outputs declared quantized", "[prepare]") {
  PrepareOptions options = withDefaults();
  options.inputQuantizedIndexes = {0};
  options.outputQuantizedIndexes = {0};
  TestContext context;
  GraphModule model = prepareText(
      context,
      std::string(kFc) + "module pool : torch.nn.MaxPool2d(kernel_size=1)\n"
                         "graph(%x : f32[1, 2, 1, 1]) {\n  %pool = call_module[pool](%x)\n  return %pool\n}\n",
      options);
  // The pool keeps an output observer of its own: there is none to share.
  CHECK(getCalls(model) == "pool=pool activation_post_process_0=activation_post_process_0");
  PreparedState state = require(PreparedState::load(model));
  CHECK(state.inputQuantizedIndexes == std::vector<int64_t>{0});
  CHECK(state.outputQuantizedIndexes == std::vector<int64_t>{0});
}

// known_traps B30
TEST_CASE("boundary indexes that point nowhere are errors", "[prepare]") {
  GraphModule model =
      parseModel(std::string(kFc) + "graph(%x : f32[1, 2]) {\n  %fc = call_module[fc](%x)\n  return %fc\n}\n");
  PrepareOptions options = withDefaults();
  options.inputQuantizedIndexes = {7, -1, 0, 0};
  options.outputQuantizedIndexes = {1};
  TestContext context;
  CHECK(getError(prepare(model, options, context.context)) ==
        "input_quantized_idxs: index 7 is outside 0..0 [quantized_index]\n"
        "input_quantized_idxs: index -1 is outside 0..0 [quantized_index]\n"
        "input_quantized_idxs: index 0 is given twice [quantized_index]\n"
        "output_quantized_idxs: index 1 is outside 0..0 [quantized_index]");
}

TEST_CASE("dynamic quantization observes the first argument only", "[prepare]") {
  TestContext context;
  GraphModule model =
      prepareText(context, std::string(kFc) + "graph(%x : f32[1, 2]) {\n  %fc = call_module[fc](%x)\n  return %fc\n}\n",
                  withGlobal("default_dynamic_qconfig"));
  CHECK(getCalls(model) == "activation_post_process_0=activation_post_process_0 fc=fc");
  CHECK(observer(model, 0)->getClassName() == "torch.ao.quantization.observer.PlaceholderObserver");
}

TEST_CASE("weight-only embedding has no observer and counts as observed", "[prepare]") {
  TestContext context;
  GraphModule model = prepareText(context,
                                  "module emb : torch.nn.Embedding(num_embeddings=2, embedding_dim=2)\n"
                                  "parameter emb.weight : f32[2, 2] = [[1.0, 0.0], [0.0, 1.0]]\n"
                                  "graph(%i : i64[1]) {\n  %emb = call_module[emb](%i)\n  return %emb\n}\n",
                                  withGlobal("float_qparams_weight_only_qconfig"));
  CHECK(getCalls(model) == "emb=emb");
  CHECK(require(PreparedState::load(model)).observedNodes.count("emb"));
}

// known_traps B22
TEST_CASE("a fixed-qparams op under a plain rule stays float, with a warning and a remark", "[prepare]") {
  std::string text =
      "module s : torch.nn.Sigmoid()\ngraph(%x : f32[1, 2]) {\n  %s = call_module[s](%x)\n  return %s\n}\n";
  TestContext context;
  GraphModule model = prepareText(context, text, withGlobal("default_qconfig"));
  CHECK(getCalls(model) == "s=s");
  const Remark *remark = context.findRemark("qconfig_constraint", "s");
  REQUIRE(remark);
  CHECK_THAT(remark->diagnostic.message,
             Catch::Contains("'s' not observed: the operator has fixed parameters (scale 0.00390625, zero_point 0)"));
  CHECK(remark->diagnostic.notes[0].message == "qconfig for 's' comes from the global entry");
  CHECK(context.warnings.size() == 1);

  TestContext defaults;
  GraphModule fixed = prepareText(defaults, text, withDefaults());
  CHECK(getCalls(fixed) ==
        "activation_post_process_0=activation_post_process_0 s=s activation_post_process_1=activation_post_process_1");
  CHECK(observer(fixed, 1)->getClassName() == "torch.ao.quantization.observer.FixedQParamsObserver");

  TestContext strict;
  strict.context.strict = true;
  GraphModule refused = parseModel(text);
  CHECK_THAT(getError(prepare(refused, withGlobal("default_qconfig"), strict.context)),
             Catch::Contains("[qconfig_constraint]"));
}

// known_traps B20 a
TEST_CASE("dtypes the backend does not list leave the node float", "[prepare]") {
  TestContext context;
  PrepareOptions options;
  QConfig q = makeQConfig("default_qconfig");
  q.activation = findObserverAlias("default_weight_observer"); // qint8
  options.mapping.setGlobal(q);
  GraphModule model = prepareText(
      context, std::string(kFc) + "graph(%x : f32[1, 2]) {\n  %fc = call_module[fc](%x)\n  return %fc\n}\n", options);
  CHECK(getCalls(model) == "fc=fc");
  const Remark *remark = context.findRemark("qconfig_dtype", "fc");
  REQUIRE(remark);
  CHECK(remark->diagnostic.message ==
        "'fc' not observed: activation dtype 'qint8' matches no dtype_config of 'torch.nn.Linear'");
  CHECK(remark->requested == "activation qint8, weight qint8");
  CHECK(remark->granted == "float");
}

TEST_CASE("every node that stays float says why", "[prepare]") {
  TestContext context;
  PrepareOptions options = withDefaults();
  options.mapping.setModuleName("fc", std::nullopt);
  GraphModule model = prepareText(context,
                                  std::string(kFc) + "graph(%x : f32[1, 2]) {\n  %fc = call_module[fc](%x)\n  %r = "
                                                     "call_function[torch.relu](%fc)\n  return %r\n}\n",
                                  options);
  CHECK(getCalls(model) == "fc=fc r=torch.relu");
  const Remark *none = context.findRemark("qconfig_none", "fc");
  REQUIRE(none);
  CHECK(none->diagnostic.notes[0].message == "qconfig for 'fc' comes from the module_name entry 'fc'");
  const Remark *pattern = context.findRemark("no_pattern", "r");
  REQUIRE(pattern);
  CHECK(pattern->diagnostic.message == "'r' not observed: no pattern of the backend 'x86' matches 'torch.relu'");
}

// known_traps B16: relu(a + b) with the addition off.
TEST_CASE("the last node's qconfig decides for its pattern", "[prepare]") {
  TestContext context;
  PrepareOptions options = withDefaults();
  options.mapping.setObjectType(OperatorName::resolve("torch.nn.functional.relu"), std::nullopt);
  GraphModule model =
      prepareText(context,
                  std::string(kFc) + "graph(%x : f32[1, 2]) {\n  %fc = call_module[fc](%x)\n  %a = "
                                     "call_function[operator.add](%fc, %fc)\n  %r = "
                                     "call_function[torch.nn.functional.relu](%a, inplace=False)\n  return %r\n}\n",
                  options);
  CHECK(getCalls(model) ==
        "activation_post_process_0=activation_post_process_0 fc=fc "
        "activation_post_process_1=activation_post_process_1 a=operator.add r=torch.nn.functional.relu");
  CHECK(context.findRemark("qconfig_of_pattern", "a"));
}

// known_traps B09
TEST_CASE("keyword operands are observed like positional ones", "[prepare]") {
  std::string call =
      GENERATE(as<std::string>(), "%x, %w, %b", "%x, weight=%w, bias=%b", "input=%x, weight=%w, bias=%b");
  TestContext context;
  GraphModule model =
      prepareText(context,
                  "parameter w : f32[2, 2] = [[1.0, 0.0], [0.0, 1.0]]\nparameter b : f32[2] = [0.0, 0.0]\n"
                  "graph(%x : f32[1, 2]) {\n  %w = get_attr[w]()\n  %b = get_attr[b]()\n"
                  "  %y = call_function[torch.nn.functional.linear](" +
                      call + ")\n  return %y\n}\n",
                  withDefaults());
  CHECK(getCalls(model) == "activation_post_process_0=activation_post_process_0 w=w "
                           "activation_post_process_1=activation_post_process_1 b=b y=torch.nn.functional.linear "
                           "activation_post_process_2=activation_post_process_2");
  CHECK(observer(model, 1)->getClassName() == "torch.ao.quantization.observer.PerChannelMinMaxObserver");
}

TEST_CASE("weight bounds of modules: a warning, or not supported on request", "[prepare]") {
  BackendConfig backend("bounded");
  BackendPatternConfig entry;
  entry.pattern = Pattern::op(OperatorName::resolve("torch.nn.Linear"));
  DTypeConfig config;
  config.input = config.output = DTypeWithConstraints(DType::QUInt8);
  config.weight = DTypeWithConstraints(DType::QInt8);
  config.weight.quantMinLowerBound = -127;
  config.weight.quantMaxUpperBound = 127;
  entry.dtypeConfigs = {config};
  backend.setBackendPatternConfig(entry);
  std::string text = std::string(kFc) + "graph(%x : f32[1, 2]) {\n  %fc = call_module[fc](%x)\n  return %fc\n}\n";
  TestContext context;
  context.context.backend = backend;
  GraphModule lenient = prepareText(context, text, withGlobal("default_qconfig"));
  CHECK(observer(lenient, 1));
  REQUIRE(context.warnings.size() == 1);
  CHECK(context.warnings[0].code == "module_weight_range");
  PrepareOptions strict = withGlobal("default_qconfig");
  strict.strictModuleWeights = true;
  GraphModule refused = prepareText(context, text, strict);
  CHECK(getCalls(refused) == "fc=fc");
}

TEST_CASE("missing operand count is an error; preparing twice too", "[prepare]") {
  BackendConfig backend("npu");
  BackendPatternConfig entry;
  entry.pattern = Pattern::op(OperatorName::resolve("operator.add"));
  entry.numTensorArgsToObservationType = {{2, ObservationType::OutputUseDifferentObserverAsInput}};
  backend.setBackendPatternConfig(entry);
  TestContext context;
  context.context.backend = backend;
  GraphModule model =
      parseModel("graph(%x : f32[1, 2]) {\n  %a = call_function[operator.add](%x, 1)\n  return %a\n}\n");
  CHECK_THAT(getError(prepare(model, withGlobal("default_qconfig"), context.context)),
             Catch::Contains("no observation type for 1 tensor arguments in pattern operator.add"));
  TestContext x86;
  GraphModule once = prepareText(
      x86, "graph(%x : f32[1, 2]) {\n  %a = call_function[operator.add](%x, %x)\n  return %a\n}\n", withDefaults());
  CHECK_THAT(getError(prepare(once, withDefaults(), x86.context)), Catch::Contains("[prepare_twice]"));
}

TEST_CASE("the same observer serves several users of a value", "[prepare]") {
  TestContext context;
  GraphModule model = prepareText(context,
                                  std::string(kFc) + "graph(%x : f32[1, 2]) {\n  %fc = call_module[fc](%x)\n  %again = "
                                                     "call_module[fc](%x)\n  return (%fc, %again)\n}\n",
                                  withDefaults());
  CHECK(getCalls(model) == "activation_post_process_0=activation_post_process_0 fc=fc "
                           "activation_post_process_1=activation_post_process_1 again=fc "
                           "activation_post_process_2=activation_post_process_2");
}

TEST_CASE("names of observers avoid the model's own", "[prepare]") {
  TestContext context;
  GraphModule model =
      prepareText(context,
                  std::string(kFc) + "module activation_post_process_0 : torch.nn.ReLU()\n"
                                     "graph(%x : f32[1, 2]) {\n  %fc = call_module[fc](%x)\n  %r = "
                                     "call_module[activation_post_process_0](%fc)\n  return (%r, %fc)\n}\n",
                  withDefaults());
  CHECK(observer(model, 0)->getClassName() == "torch.nn.ReLU");
  CHECK(observer(model, 1)->getClassName() == "torch.ao.quantization.observer.HistogramObserver");
}
