// torch.ao.quantization.fx.utils: each function on graphs written by hand.
#include "PassTest.h"
#include "ir/Ops.h"
#include "passes/FxUtils.h"

using namespace qfx;

static const char *const kModel = R"(
module conv : torch.nn.Conv2d(in_channels=2, out_channels=2, kernel_size=(1, 1))
module relu : torch.nn.ReLU()
parameter conv.weight : f32[2, 2, 1, 1] = 0.5
parameter conv.bias : f32[2] = 0
parameter w : f32[3, 4] = 0.25
parameter b : f32[3] = 1
graph(%x : f32[1, 2, 2, 2]) {
  %conv = call_module[conv](%x)
  %relu = call_module[relu](%conv)
  %size = call_method[size](%relu, 0)
  %view = call_method[view](%relu, %size, -1)
  %w = get_attr[w]()
  %double = call_function[torch.mul](%w, 2.0)
  %b = get_attr[b]()
  %flat = call_method[reshape](%view, 2, 4)
  %linear = call_function[torch._C._nn.linear](%flat, %double, bias=%b)
  %act = call_function[torch.nn.functional.relu](%linear)
  return %act
}
)";

TEST_CASE("argument positions", "[passes][utils]") {
  GraphModule model = parseModel(kModel);
  Graph &graph = model.getGraph();
  CHECK(getAllNodeArgsExceptFirst(*graph.findNode("view")) == std::vector<size_t>{1, 2});
  CHECK(getAllNodeArgsExceptFirst(*graph.findNode("conv")).empty());
  CHECK(returnArgList({0, 2, 5})(*graph.findNode("view")) == std::vector<size_t>{0, 2});
  auto rows = getNonObservableArgIndexesAndTypes(*graph.findNode("view"));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].type == "int");
  CHECK(rows[0].indexes == std::vector<size_t>{1, 2});
  CHECK(getNonObservableArgIndexesAndTypes(*graph.findNode("size"))[0].indexes == std::vector<size_t>{1});
  CHECK(getNonObservableArgIndexesAndTypes(*graph.findNode("linear")).empty());
  CHECK(NodeInfo{Opcode::CallMethod, "view"} == NodeInfo{Opcode::CallMethod, "view"});
  CHECK_FALSE(NodeInfo{Opcode::CallMethod, "view"} == NodeInfo{Opcode::CallFunction, "view"});
}

TEST_CASE("what carries tensors", "[passes][utils]") {
  GraphModule model = parseModel(kModel);
  CHECK(haveAllNodeArgsNoTensors(*model.getGraph().findNode("size"), model));
  CHECK_FALSE(haveAllNodeArgsNoTensors(*model.getGraph().findNode("view"), model));
  CHECK(getUniqueDevice(model.getRoot()) == std::optional<std::string>("cpu"));
  CHECK(getUniqueDevice(Module()) == std::nullopt);
}

TEST_CASE("producers of a constant become a graph of their own", "[passes][utils]") {
  GraphModule model = parseModel(kModel);
  Graph &graph = model.getGraph();
  CHECK(collectProducerNodes(*graph.findNode("linear")) == std::nullopt); // the input is among them
  auto producers = collectProducerNodes(*graph.findNode("double"));
  REQUIRE(producers);
  CHECK(*producers == std::vector<Node *>{graph.findNode("double"), graph.findNode("w")});
  GraphModule constant = graphModuleFromProducerNodes(model, *producers);
  CHECK(getFx(constant) == "%w : [num_users=1] = get_attr[target=w]\n"
                           "%double : [num_users=1] = call_function[target=torch.mul](args = (%w, 2.0), kwargs = {})\n"
                           "return double\n");
  CHECK(constant.getRoot().findTensor("w") != nullptr);
  CHECK(constant.getRoot().findTensor("b") == nullptr);
}

TEST_CASE("attributes under fresh names", "[passes][utils]") {
  GraphModule model = parseModel(kModel);
  Graph &graph = model.getGraph();
  auto newName = getNewAttrNameWithPrefix("layer.scale_");
  CHECK(newName(model.getRoot()) == "layer_scale_0");
  auto insertPoint = Graph::InsertPoint::before(graph.findNode("linear"));
  Node *scale = createGetattrFromValue(model, "layer.scale_", 0.5);
  CHECK(scale->getTargetText() == "layer_scale_0");
  CHECK(model.getRoot().getTensor("layer_scale_0").getData<float>()[0] == 0.5f);
  Node *zeroPoint = createGetattrFromValue(model, "layer.scale_", int64_t(7));
  CHECK(zeroPoint->getTargetText() == "layer_scale_1");
  CHECK(model.getRoot().getTensor("layer_scale_1").getDType() == DType::Int64);
  CHECK(newName(model.getRoot()) == "layer_scale_2");
  Node *old = graph.findNode("linear");
  Node *made = createNodeFromOldNodePreserveMeta([&] { return graph.getAttr("b"); }, *old);
  CHECK(made->getLoc().line == old->getLoc().line);
}

TEST_CASE("prepack operators", "[passes][utils]") {
  CHECK(require(getLinearPrepackOpForDType(DType::QInt8))->text == "torch.ops.quantized.linear_prepack");
  CHECK(require(getLinearPrepackOpForDType(DType::Float16))->text == "torch.ops.quantized.linear_prepack_fp16");
  CHECK(getError(getLinearPrepackOpForDType(DType::QUInt8)) ==
        "a linear weight is packed as qint8 or float16, not as quint8 [prepack_dtype]");
  CHECK(require(getQConvPrepackOp("torch.nn.functional.conv2d"))->text == "torch.ops.quantized.conv2d_prepack");
  CHECK(require(getQConvPrepackOp("torch.conv1d"))->text == "torch.ops.quantized.conv1d_prepack");
  CHECK(require(getQConvPrepackOp("torch.nn.functional.conv_transpose3d"))->text == "torch.ops.quantized.conv_transpose3d_prepack");
  CHECK(getError(getQConvPrepackOp("torch.nn.functional.linear")).find("[prepack_function]") != std::string::npos);
}

TEST_CASE("users, weights and biases", "[passes][utils]") {
  GraphModule model = parseModel(kModel);
  Graph &graph = model.getGraph();
  const TargetInfo &relu = requireModuleClass("torch.nn.ReLU");
  const TargetInfo &functional = requireFunction("torch.nn.functional.relu");
  CHECK(maybeGetNextModule(*graph.findNode("conv"), model, &relu) == graph.findNode("relu"));
  CHECK(maybeGetNextModule(*graph.findNode("linear"), model, &relu) == nullptr);
  CHECK(maybeGetNextModule(*graph.findNode("linear"), model, nullptr, &functional) == graph.findNode("act"));
  BackendConfig backend = *getBuiltinBackendConfig("x86");
  const Node &linear = *graph.findNode("linear");
  CHECK(isNodeArgWeight(linear, *graph.findNode("double"), backend));
  CHECK_FALSE(isNodeArgWeight(linear, *graph.findNode("flat"), backend));
  CHECK(isNodeArgBias(linear, *graph.findNode("b"), backend));
  CHECK_FALSE(isNonQuantizableWeightOp(linear));
}

TEST_CASE("classes of custom module mappings", "[passes][utils]") {
  ModuleMapping fixed, dynamic;
  fixed.set("my.A", "my.ObservedA").set("my.B", "my.ObservedB");
  dynamic.set("my.B", "my.DynamicB");
  CHECK(getCustomModuleClassKeys({fixed, dynamic}) == ModuleClassList{"my.A", "my.B"});
}

TEST_CASE("modules that tracing keeps as calls", "[passes][utils]") {
  PrepareCustomConfig config;
  config.setNonTraceableModuleNames({"head"})
      .setNonTraceableModuleClasses({OperatorName::resolve("my.Head")})
      .setStandaloneModuleName("block", {})
      .setStandaloneModuleClass(OperatorName::resolve("my.Block"), {})
      .setFloatToObservedMapping(OperatorName::resolve("my.Float"), OperatorName::resolve("my.Observed"));
  SkippedModules top = getSkippedModuleNameAndClasses(config, /*isStandaloneModule=*/false);
  CHECK(top.names == std::vector<std::string>{"head", "block"});
  REQUIRE(top.classes.size() == 3);
  CHECK(top.classes[1].text == "my.Block");
  CHECK(top.classes[2].text == "my.Float");
  SkippedModules inner = getSkippedModuleNameAndClasses(config, /*isStandaloneModule=*/true);
  CHECK(inner.names == std::vector<std::string>{"head"});
  CHECK(inner.classes.size() == 1);
}
