// The fusion pass: every named fuser in both columns, the object fuser, sharing rules and errors.
#include "passes/fuse/Fuse.h"
#include "PassTest.h"
#include "passes/fuse/FusionRecord.h"

using namespace qfx;

static const char *kConv =
    "module conv : torch.nn.Conv2d(in_channels=1, out_channels=2, kernel_size=(1, 1), bias=False)\n"
    "parameter conv.weight : f32[2, 1, 1, 1] = [[[[1.0]]], [[[2.0]]]]\n";
static const char *kBn = "module bn : torch.nn.BatchNorm2d(num_features=2, eps=0.0)\n"
                         "parameter bn.weight : f32[2] = [3.0, 1.0]\n"
                         "parameter bn.bias : f32[2] = [1.0, 0.0]\n"
                         "buffer bn.running_mean : f32[2] = [0.0, 1.0]\n"
                         "buffer bn.running_var : f32[2] = [1.0, 4.0]\n";
static const char *kRelu = "module relu : torch.nn.ReLU()\n";

static std::string inTraining(std::string declarations) {
  std::string result;
  for (llvm::StringRef rest = declarations; !rest.empty();) {
    auto [line, next] = rest.split('\n');
    result += line.str() + (line.take_front(6) == "module" ? " training\n" : "\n");
    rest = next;
  }
  return result;
}

static std::string fuseText(GraphModule &model, const std::string &backend = "x86", bool isQat = false) {
  TestContext context(backend);
  require(fuse(model, FuseOptions{isQat}, context.context));
  return getCalls(model);
}

static std::string classOf(const GraphModule &model, llvm::StringRef path) {
  ModuleRef module = model.getRoot().findModule(path);
  REQUIRE(module);
  std::string text = module->getClassName();
  for (const auto &child : module->getChildren())
    text += " " + child.first + "=" + child.second->getClassName();
  return text;
}

static std::vector<float> valuesOf(const GraphModule &model, llvm::StringRef path) {
  const Tensor *tensor = model.getRoot().findTensorAt(path);
  REQUIRE(tensor);
  llvm::ArrayRef<float> data = tensor->getData<float>();
  return {data.begin(), data.end()};
}

TEST_CASE("conv + bn folds into the conv", "[fuse]") {
  GraphModule model =
      parseModel(std::string(kConv) + kBn +
                 "graph(%x : f32[1, 1, 1, 1]) {\n  %conv = call_module[conv](%x)\n  %bn = call_module[bn](%conv)\n"
                 "  return %bn\n}\n");
  CHECK(fuseText(model) == "conv=conv");
  CHECK(classOf(model, "conv") == "torch.nn.Conv2d");
  CHECK(valuesOf(model, "conv.weight") == std::vector<float>{3, 1});   // w * gamma / sqrt(var): 1*3/1, 2*1/2
  CHECK(valuesOf(model, "conv.bias") == std::vector<float>{1, -0.5f}); // (0 - mean) * r * gamma + beta
  CHECK(model.getRoot().findModule("conv")->getAttribute("bias").getBool());
  CHECK_FALSE(model.getRoot().findModule("bn"));
  std::vector<AbsorbedNode> record = loadFusionRecord(model);
  REQUIRE(record.size() == 1);
  CHECK(record[0].path == "bn");
  CHECK(record[0].into == "conv");
}

TEST_CASE("conv + bn + relu, module and function", "[fuse]") {
  std::string relu = GENERATE(as<std::string>(), "call_module[relu](%bn)",
                              "call_function[torch.nn.functional.relu](%bn, inplace=False)");
  GraphModule model =
      parseModel(std::string(kConv) + kBn + kRelu +
                 "graph(%x : f32[1, 1, 1, 1]) {\n  %conv = call_module[conv](%x)\n  %bn = call_module[bn](%conv)\n"
                 "  %relu = " +
                 relu + "\n  return %relu\n}\n");
  CHECK(fuseText(model) == "conv=conv");
  CHECK(classOf(model, "conv") == "torch.ao.nn.intrinsic.ConvReLU2d 0=torch.nn.Conv2d 1=torch.nn.ReLU");
  CHECK(valuesOf(model, "conv.0.weight") == std::vector<float>{3, 1});
}

TEST_CASE("the QAT column keeps the batch norm", "[fuse]") {
  std::string text = std::string(kConv) + kBn + kRelu +
                     "graph(%x : f32[1, 1, 1, 1]) {\n  %conv = call_module[conv](%x)\n  %bn = call_module[bn](%conv)\n";
  GraphModule convBn = parseModel(text + "  return %bn\n}\n");
  fuseText(convBn, "x86", /*isQat=*/true);
  CHECK(classOf(convBn, "conv") == "torch.ao.nn.intrinsic.ConvBn2d 0=torch.nn.Conv2d 1=torch.nn.BatchNorm2d");
  GraphModule convBnRelu = parseModel(text + "  %relu = call_module[relu](%bn)\n  return %relu\n}\n");
  fuseText(convBnRelu, "x86", /*isQat=*/true);
  CHECK(classOf(convBnRelu, "conv") ==
        "torch.ao.nn.intrinsic.ConvBnReLU2d 0=torch.nn.Conv2d 1=torch.nn.BatchNorm2d 2=torch.nn.ReLU");
}

TEST_CASE("linear fusers", "[fuse]") {
  std::string linear =
      "module fc : torch.nn.Linear(in_features=1, out_features=1)\nparameter fc.weight : f32[1, 1] = [[2.0]]\n"
      "parameter fc.bias : f32[1] = [1.0]\n";
  SECTION("linear + relu") {
    GraphModule model =
        parseModel(linear + kRelu +
                   "graph(%x : f32[1, 1]) {\n  %fc = call_module[fc](%x)\n  %relu = call_module[relu](%fc)\n"
                   "  return %relu\n}\n");
    CHECK(fuseText(model) == "fc=fc");
    CHECK(classOf(model, "fc") == "torch.ao.nn.intrinsic.LinearReLU 0=torch.nn.Linear 1=torch.nn.ReLU");
  }
  std::string bn = "module bn : torch.nn.BatchNorm1d(num_features=1, eps=0.0)\nparameter bn.weight : f32[1] = [2.0]\n"
                   "parameter bn.bias : f32[1] = [0.5]\nbuffer bn.running_mean : f32[1] = [3.0]\nbuffer bn.running_var "
                   ": f32[1] = [4.0]\n";
  std::string linearBn = linear + bn + "module act : torch.nn.LeakyReLU(negative_slope=0.25)\n" +
                         "graph(%x : f32[1, 1]) {\n  %fc = call_module[fc](%x)\n  %bn = call_module[bn](%fc)\n";
  SECTION("linear + bn folds") {
    GraphModule model = parseModel(linearBn + "  return %bn\n}\n");
    CHECK(fuseText(model) == "fc=fc");
    CHECK(valuesOf(model, "fc.weight") == std::vector<float>{2});   // 2 * 2/2
    CHECK(valuesOf(model, "fc.bias") == std::vector<float>{-1.5f}); // (1-3) * 2/2 + 0.5
  }
  SECTION("linear + bn in QAT") {
    GraphModule model = parseModel(linearBn + "  return %bn\n}\n");
    fuseText(model, "x86", /*isQat=*/true);
    CHECK(classOf(model, "fc") == "torch.ao.nn.intrinsic.LinearBn1d 0=torch.nn.Linear 1=torch.nn.BatchNorm1d");
  }
  SECTION("onednn: linear + bn + leaky_relu") {
    GraphModule model = parseModel(linearBn + "  %act = call_module[act](%bn)\n  return %act\n}\n");
    CHECK(fuseText(model, "onednn") == "fc=fc");
    CHECK(classOf(model, "fc") == "torch.ao.nn.intrinsic.LinearLeakyReLU 0=torch.nn.Linear 1=torch.nn.LeakyReLU");
    GraphModule qat = parseModel(linearBn + "  %act = call_module[act](%bn)\n  return %act\n}\n");
    TestContext context("onednn");
    CHECK_THAT(getError(fuse(qat, FuseOptions{true}, context.context)), Catch::Contains("[fuse_qat]"));
  }
  SECTION("onednn: functions become modules") {
    GraphModule leaky = parseModel(
        linear + "graph(%x : f32[1, 1]) {\n  %fc = call_module[fc](%x)\n"
                 "  %l = call_function[torch.nn.functional.leaky_relu](%fc, negative_slope=0.5, inplace=False)\n"
                 "  return %l\n}\n");
    CHECK(fuseText(leaky, "onednn") == "fc=fc");
    CHECK(leaky.getRoot().findModule("fc.1")->getAttribute("negative_slope").getNumber() == 0.5);
    GraphModule tanh = parseModel(linear + "graph(%x : f32[1, 1]) {\n  %fc = call_module[fc](%x)\n"
                                           "  %t = call_function[torch.tanh](%fc)\n  return %t\n}\n");
    CHECK(fuseText(tanh, "onednn") == "fc=fc");
    CHECK(classOf(tanh, "fc") == "torch.ao.nn.intrinsic.LinearTanh 0=torch.nn.Linear 1=torch.nn.Tanh");
  }
}

TEST_CASE("bn + relu", "[fuse]") {
  GraphModule model =
      parseModel(std::string(kBn) + kRelu +
                 "graph(%x : f32[1, 2, 1, 1]) {\n  %bn = call_module[bn](%x)\n  %relu = call_module[relu](%bn)\n"
                 "  return %relu\n}\n");
  CHECK(fuseText(model) == "bn=bn");
  CHECK(classOf(model, "bn") == "torch.ao.nn.intrinsic.BNReLU2d 0=torch.nn.BatchNorm2d 1=torch.nn.ReLU");
}

// known_traps B15
TEST_CASE("grouped transposed conv + bn", "[fuse]") {
  int groups = GENERATE(1, 2, 4);
  int perGroup = 4 / groups;
  std::string ones = "[";
  for (int i = 0; i < 4; ++i) {
    ones += i ? ", [" : "[";
    for (int j = 0; j < perGroup; ++j)
      ones += j ? ", [[1.0]]" : "[[1.0]]";
    ones += "]";
  }
  ones += "]";
  std::string text =
      "module up : torch.nn.ConvTranspose2d(in_channels=4, out_channels=4, kernel_size=(1, 1), groups=" +
      std::to_string(groups) + ", bias=False)\nparameter up.weight : f32[4, " + std::to_string(perGroup) +
      ", 1, 1] = " + ones +
      "\nmodule bn : torch.nn.BatchNorm2d(num_features=4, eps=0.0)\nparameter bn.weight : f32[4] = [1.0, 2.0, 3.0, "
      "4.0]\n"
      "parameter bn.bias : f32[4] = [0.0, 0.0, 0.0, 0.0]\nbuffer bn.running_mean : f32[4] = [0.0, 0.0, 0.0, 0.0]\n"
      "buffer bn.running_var : f32[4] = [1.0, 1.0, 1.0, 1.0]\n"
      "graph(%x : f32[1, 4, 1, 1]) {\n  %up = call_module[up](%x)\n  %bn = call_module[bn](%up)\n  return %bn\n}\n";
  GraphModule model = parseModel(text);
  CHECK(fuseText(model) == "up=up");
  std::vector<float> weight = valuesOf(model, "up.weight");
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < perGroup; ++column) {
      int group = row / (4 / groups);
      CHECK(weight[static_cast<size_t>(row * perGroup + column)] == static_cast<float>(group * perGroup + column + 1));
    }
  GraphModule qat = parseModel(text);
  TestContext context;
  CHECK_THAT(getError(fuse(qat, FuseOptions{true}, context.context)), Catch::Contains("not supported in QAT"));
}

TEST_CASE("onednn: conv + add, left, right, with bn and relu", "[fuse]") {
  bool isLeft = GENERATE(true, false), hasBn = GENERATE(true, false), hasRelu = GENERATE(true, false);
  std::string add = GENERATE(as<std::string>(), "torch.add", "operator.add");
  std::string conv = hasBn ? "bn" : "conv";
  std::string text = std::string(kConv) + kBn + kRelu +
                     "graph(%x : f32[1, 1, 1, 1], %y : f32[1, 2, 1, 1]) {\n  %conv = call_module[conv](%x)\n";
  if (hasBn)
    text += "  %bn = call_module[bn](%conv)\n";
  text += "  %add = call_function[" + add + "](" + (isLeft ? "%" + conv + ", %y" : "%y, %" + conv) + ")\n";
  text += hasRelu ? "  %relu = call_module[relu](%add)\n  return %relu\n}\n" : "  return %add\n}\n";
  GraphModule model = parseModel(text);
  CHECK(fuseText(model, "onednn") == "conv=conv");
  Node *fused = model.getGraph().findNode("conv");
  REQUIRE(fused->getArgs().size() == 2);
  CHECK(fused->getArg(0).getNode()->getName() == "x");
  CHECK(fused->getArg(1).getNode()->getName() == "y");
  ModuleRef module = model.getModule(*fused);
  CHECK(module->getClassName() ==
        (hasRelu ? "torch.ao.nn.intrinsic.ConvAddReLU2d" : "torch.ao.nn.intrinsic.ConvAdd2d"));
  CHECK(valuesOf(model, "conv.0.weight") == (hasBn ? std::vector<float>{3, 1} : std::vector<float>{1, 2}));
}

TEST_CASE("onednn: two convs, the left one is the root; a constant or alpha under the addition refuses", "[fuse]") {
  std::string other = "module other : torch.nn.Conv2d(in_channels=1, out_channels=2, kernel_size=(1, 1), bias=False)\n"
                      "parameter other.weight : f32[2, 1, 1, 1] = [[[[1.0]]], [[[2.0]]]]\n";
  std::string head =
      std::string(kConv) + other +
      "graph(%x : f32[1, 1, 1, 1]) {\n  %conv = call_module[conv](%x)\n  %other = call_module[other](%x)\n";
  GraphModule both = parseModel(head + "  %add = call_function[operator.add](%conv, %other)\n  return %add\n}\n");
  CHECK(fuseText(both, "onednn") == "other=other conv=conv");
  CHECK(both.getGraph().findNode("conv")->getArg(1).getNode()->getName() == "other");
  GraphModule alpha =
      parseModel(head + "  %add = call_function[torch.add](%conv, %other, alpha=2)\n  return %add\n}\n");
  CHECK(fuseText(alpha, "onednn") == "conv=conv other=other add=torch.add");
  GraphModule constant =
      parseModel(head + "  %add = call_function[operator.add](%conv, 3)\n  return (%add, %other)\n}\n");
  CHECK(fuseText(constant, "onednn") == "conv=conv other=other add=operator.add");
  GraphModule repeated =
      parseModel(head + "  %add = call_function[operator.add](%conv, %conv)\n  return (%add, %other)\n}\n");
  CHECK(fuseText(repeated, "onednn") == "conv=conv other=other add=operator.add");
}

TEST_CASE("a conv whose result has two users stays", "[fuse]") {
  GraphModule model =
      parseModel(std::string(kConv) + kBn +
                 "graph(%x : f32[1, 1, 1, 1]) {\n  %conv = call_module[conv](%x)\n  %bn = call_module[bn](%conv)\n"
                 "  return (%bn, %conv)\n}\n");
  TestContext context;
  CHECK_FALSE(require(fuse(model, FuseOptions(), context.context)));
  CHECK(getCalls(model) == "conv=conv bn=bn");
  const Remark *remark = context.findRemark("fuse_users", "bn");
  REQUIRE(remark);
  CHECK(remark->diagnostic.message == "'bn' not fused: 'conv' has 2 users");
}

// known_traps B01: c(x), bn(c(y)).
TEST_CASE("a shared conv is fused into a copy", "[fuse]") {
  GraphModule model =
      parseModel(std::string(kConv) + kBn + "module conv_1 : torch.nn.ReLU()\n" +
                 "graph(%x : f32[1, 1, 1, 1], %y : f32[1, 1, 1, 1]) {\n  %conv = call_module[conv](%x)\n"
                 "  %again = call_module[conv](%y)\n  %bn = call_module[bn](%again)\n  return (%conv, %bn)\n}\n");
  CHECK(fuseText(model) == "conv=conv again=conv_2");
  CHECK(valuesOf(model, "conv.weight") == std::vector<float>{1, 2});
  CHECK(valuesOf(model, "conv_2.weight") == std::vector<float>{3, 1});
}

TEST_CASE("equal matches of one module share the fused one in place", "[fuse]") {
  GraphModule model =
      parseModel(std::string(kConv) + kBn +
                 "graph(%x : f32[1, 1, 1, 1], %y : f32[1, 1, 1, 1]) {\n  %a = call_module[conv](%x)\n"
                 "  %p = call_module[bn](%a)\n  %b = call_module[conv](%y)\n  %q = call_module[bn](%b)\n"
                 "  return (%p, %q)\n}\n");
  CHECK(fuseText(model) == "a=conv b=conv");
  CHECK(valuesOf(model, "conv.weight") == std::vector<float>{3, 1});
}

TEST_CASE("a get_attr that reads the weight keeps the module", "[fuse]") {
  GraphModule model =
      parseModel(std::string(kConv) + kBn +
                 "graph(%x : f32[1, 1, 1, 1]) {\n  %w = get_attr[conv.weight]()\n  %conv = call_module[conv](%x)\n"
                 "  %bn = call_module[bn](%conv)\n  return (%bn, %w)\n}\n");
  CHECK(fuseText(model) == "w=conv.weight conv=conv_1");
  CHECK(valuesOf(model, "conv.weight") == std::vector<float>{1, 2});
}

TEST_CASE("fusion errors", "[fuse]") {
  std::string graph = "graph(%x : f32[1, 1, 1, 1]) {\n  %conv = call_module[conv](%x)\n  %bn = call_module[bn](%conv)\n"
                      "  return %bn\n}\n";
  TestContext context;
  SECTION("training mode") {
    GraphModule model = parseModel(inTraining(std::string(kConv) + kBn) + graph);
    CHECK_THAT(getError(fuse(model, FuseOptions(), context.context)),
               Catch::Contains("training mode") && Catch::Contains("[fuse_mode]"));
  }
  SECTION("mixed modes") {
    GraphModule model = parseModel(inTraining(kConv) + kBn + graph);
    CHECK_THAT(getError(fuse(model, FuseOptions(), context.context)), Catch::Contains("same mode"));
  }
  SECTION("no running statistics") {
    GraphModule model = parseModel(
        std::string(kConv) +
        "module bn : torch.nn.BatchNorm2d(num_features=2, affine=False, track_running_stats=False)\n" + graph);
    CHECK_THAT(getError(fuse(model, FuseOptions(), context.context)), Catch::Contains("[fold_stats]"));
    GraphModule qat = parseModel(
        std::string(kConv) +
        "module bn : torch.nn.BatchNorm2d(num_features=2, affine=False, track_running_stats=False)\n" + graph);
    CHECK_THAT(getError(fuse(qat, FuseOptions{true}, context.context)), Catch::Contains("[fuse_qat_bn]"));
  }
  SECTION("negative variance") {
    std::string bn = kBn;
    bn.replace(bn.find("[1.0, 4.0]"), 10, "[1.0, -4.0]");
    GraphModule model = parseModel(std::string(kConv) + bn + graph);
    CHECK_THAT(getError(fuse(model, FuseOptions(), context.context)), Catch::Contains("running_var[1] is -4"));
  }
}

TEST_CASE("the object fuser builds the fused class from the children it lists", "[fuse]") {
  BackendConfig backend("npu");
  BackendPatternConfig entry;
  entry.pattern =
      Pattern::fromSimple({OperatorName::resolve("torch.nn.Conv2d"), OperatorName::resolve("torch.nn.BatchNorm2d"),
                           OperatorName::resolve("torch.nn.ReLU6")});
  entry.fusedModule = OperatorName::resolve("npu.ConvReLU6");
  FuserMethod fuser;
  fuser.kind = FuserMethod::Kind::Object;
  fuser.children = {{1, 1}, {0}};
  fuser.foldBatchNorm = PatternPath{1, 0};
  entry.fuserMethod = fuser;
  backend.setBackendPatternConfig(entry);
  GraphModule model =
      parseModel(std::string(kConv) + kBn + "module act : torch.nn.ReLU6()\n" +
                 "graph(%x : f32[1, 1, 1, 1]) {\n  %conv = call_module[conv](%x)\n  %bn = call_module[bn](%conv)\n"
                 "  %act = call_module[act](%bn)\n  return %act\n}\n");
  PassContext context;
  context.backend = backend;
  require(fuse(model, FuseOptions(), context));
  CHECK(classOf(model, "conv") == "npu.ConvReLU6 0=torch.nn.Conv2d 1=torch.nn.ReLU6");
  CHECK(valuesOf(model, "conv.0.weight") == std::vector<float>{3, 1});
}

TEST_CASE("a class that cannot hold its children is refused", "[fuse]") {
  BackendConfig backend("npu");
  BackendPatternConfig entry;
  entry.pattern =
      Pattern::fromSimple({OperatorName::resolve("torch.nn.Conv2d"), OperatorName::resolve("torch.nn.ReLU6")});
  entry.fusedModule = OperatorName::resolve("torch.ao.nn.intrinsic.ConvReLU2d");
  entry.fuserMethod = FuserMethod();
  backend.setBackendPatternConfig(entry);
  GraphModule model = parseModel(std::string(kConv) + "module act : torch.nn.ReLU6()\n" +
                                 "graph(%x : f32[1, 1, 1, 1]) {\n  %conv = call_module[conv](%x)\n"
                                 "  %act = call_module[act](%conv)\n  return %act\n}\n");
  PassContext context;
  context.backend = backend;
  CHECK_THAT(getError(fuse(model, FuseOptions(), context)),
             Catch::Contains("cannot hold (torch.nn.Conv2d, torch.nn.ReLU6)"));
}
