// The .qfx text: parsing, printing, saving; what was printed parses to the identical model.
#include "Catch.h"
#include "IrTest.h"

#include "ir/Ops.h"
#include "ir/text/QfxText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace qfx;

static const char *const kSmall = R"(qfx 1
module conv : torch.nn.Conv2d(in_channels=1, out_channels=2, kernel_size=(3, 3), padding=(1, 1), bias=False)
module act : torch.nn.ReLU()
parameter conv.weight : f32[2, 1, 3, 3] = random(seed=7)
graph(%x : f32[N, 1, 8, 8]) {
  %conv = call_module[conv](%x)
  %act = call_module[act](%conv)
  %add = call_function[torch.add](%act, %conv, alpha=1)
  return %add
}
)";

TEST_CASE("a model's parts come from its lines") {
  GraphModule model = parseOrFail(kSmall);
  const Graph &graph = model.getGraph();
  REQUIRE(graph.getNumNodes() == 5);
  ModuleRef conv = model.getRoot().findModule("conv");
  REQUIRE(conv);
  CHECK(conv->getClassName() == "torch.nn.Conv2d");
  CHECK(conv->getAttribute("groups").getInt() == 1); // the row's default
  CHECK(conv->getTensor("weight").getSizes() == llvm::ArrayRef<int64_t>({2, 1, 3, 3}));
  Node *node = model.getGraph().findNode("conv");
  REQUIRE(node);
  CHECK(node->getLoc().line == 6);
  CHECK(node->getLoc().column == 3);
  REQUIRE(node->getScope());
  CHECK(node->getScope()->path == "conv");
  CHECK(node->getScope()->className == "torch.nn.Conv2d");
  Node *add = model.getGraph().findNode("add");
  CHECK(add->getScope()->path.empty());
  CHECK(add->getKwarg("alpha")->getInt() == 1);
  CHECK(toString(*model.getGraph().findNode("x")->getType()) == "f32[N, 1, 8, 8]");
}

TEST_CASE("seeded random tensors follow splitmix64") {
  GraphModule model = parseOrFail(R"(qfx 1
buffer a : f64[3] = random(seed=1234567)
buffer b : f64[2] = random(seed=0, low=2, high=10)
buffer c : i8[2] = random(seed=0, low=-100, high=100)
graph() {
  return None
}
)");
  // splitmix64 of seed 1234567 starts 6457827717110365317, 3203168211198807973, 9817491932198370423 (the reference
  // implementation's published test vector); values by hand from `low + (high - low) * (u >> 40) * 2^-24`.
  auto expected = [](uint64_t u, double low, double high) { return low + (high - low) * (double(u >> 40) / 16777216.0); };
  const Tensor &a = *model.getRoot().findTensorAt("a");
  CHECK(a.getData<double>()[0] == expected(6457827717110365317u, -1, 1));
  CHECK(a.getData<double>()[1] == expected(3203168211198807973u, -1, 1));
  CHECK(a.getData<double>()[2] == expected(9817491932198370423u, -1, 1));
  // Seed 0 starts 0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4.
  const Tensor &b = *model.getRoot().findTensorAt("b");
  CHECK(b.getData<double>()[0] == expected(0xe220a8397b1dcdafu, 2, 10));
  CHECK(b.getData<double>()[1] == expected(0x6e789e6aa1b965f4u, 2, 10));
  CHECK(model.getRoot().findTensorAt("c")->getData<int8_t>()[0] == 77); // -100 + 200 * 0.88331...
}

TEST_CASE("what was printed parses to the identical model") {
  for (const std::string &file : listFiles(QFX_SOURCE_DIR "/test/ir", ".qfx")) {
    if (llvm::StringRef(file).contains("-invalid"))
      continue;
    for (const std::string &part : splitParts(readFileOrFail(file))) {
      INFO(file);
      GraphModule model = parseOrFail(part);
      std::string text = print(model);
      GraphModule again = parseOrFail(text);
      std::string why;
      bool same = isIdentical(model, again, &why);
      INFO(why);
      CHECK(same);
      CHECK(print(again) == text);
      GraphModule copy = model.clone();
      CHECK(print(copy) == text);
    }
  }
}

TEST_CASE("reading equals FX's deep copy: users in list order, names reserved") {
  GraphModule model = parseOrFail(kSmall);
  Graph &graph = model.getGraph();
  Node *conv = graph.findNode("conv"), *act = graph.findNode("act"), *add = graph.findNode("add");
  act->setArgs({conv}); // act moves behind add
  REQUIRE(conv->getUsers() == llvm::ArrayRef<Node *>({add, act}));
  GraphModule again = parseOrFail(print(model));
  Node *newConv = again.getGraph().findNode("conv");
  REQUIRE(newConv->getNumUsers() == 2);
  CHECK(newConv->getUsers()[0]->getName() == "act");
  CHECK(newConv->getUsers()[1]->getName() == "add");
  CHECK(isIdentical(model, again));
  Node *fresh = again.getGraph().callFunction(requireFunction("torch.add"), {newConv, newConv});
  CHECK(fresh->getName() == "add_1");
}

TEST_CASE("scopes, flags, meta and sharing survive") {
  GraphModule model = parseOrFail(kSmall);
  Graph &graph = model.getGraph();
  graph.findNode("act")->setScope(std::nullopt);
  graph.findNode("add")->setScope(Scope{"block.0", "my.Block"});
  graph.findNode("add")->setMeta("k", Argument::list({1, 2.5, "three"}));
  graph.getOutput()->setMeta("last", true);
  graph.findNode("x")->setScope(std::nullopt);
  model.setMeta("decisions", Argument::dict({{"a", Argument::none()}, {"b", Argument(DType::QUInt8)}}));
  Module &root = model.getRoot();
  root.setTraining(true);
  root.findModule("conv")->setTraining(true);
  root.setModule("deep.er.act", root.findModule("act"));
  auto linear = std::make_shared<Module>(requireModuleClass("torch.nn.Linear"));
  linear->setAttribute("in_features", 9);
  linear->setAttribute("out_features", 2);
  linear->setAttribute("bias", false);
  linear->setParameter("weight", root.findTensorAt("conv.weight")->reshaped({2, 9}));
  root.setModule("fc", linear);
  auto tied = std::make_shared<Module>(*linear);
  root.setModule("fc2", tied);
  GraphModule again = parseOrFail(print(model));
  std::string why;
  bool same = isIdentical(model, again, &why);
  INFO(why << "\n" << print(model));
  CHECK(same);
  CHECK(!again.getGraph().findNode("act")->getScope());
  CHECK(again.getRoot().findModule("deep.er.act") == again.getRoot().findModule("act"));
  CHECK(again.getRoot().findTensorAt("fc.weight")->getBytes() == again.getRoot().findTensorAt("fc2.weight")->getBytes());
  CHECK(again.getRoot().isTraining());
  CHECK(!again.getRoot().findModule("act")->isTraining());
}

TEST_CASE("comparison sees every kind of difference") {
  auto check = [](llvm::function_ref<void(GraphModule &)> change) {
    GraphModule model = parseOrFail(kSmall), other = parseOrFail(kSmall);
    REQUIRE(isIdentical(model, other));
    change(other);
    std::string why;
    CHECK(!isIdentical(model, other, &why));
    CHECK(!why.empty());
  };
  check([](GraphModule &m) { m.getRoot().setTraining(true); });
  check([](GraphModule &m) { m.getRoot().findModule("conv")->setAttribute("groups", 1); });
  check([](GraphModule &m) { m.getRoot().setModule("extra", std::make_shared<Module>()); });
  check([](GraphModule &m) { m.getRoot().setBuffer("b", Tensor::of<float>(DType::Float32, {1}, {1.f})); });
  check([](GraphModule &m) { m.getRoot().findModule("conv")->setParameter("weight", m.getRoot().findTensorAt("conv.weight")->reshaped({1, 2, 3, 3})); });
  check([](GraphModule &m) { m.getGraph().findNode("add")->setKwargs({{"alpha", 1.0}}); });
  check([](GraphModule &m) { m.getGraph().findNode("add")->setScope(std::nullopt); });
  check([](GraphModule &m) { m.getGraph().findNode("add")->setMeta("k", 1); });
  check([](GraphModule &m) { m.getGraph().findNode("x")->setType(std::nullopt); });
  check([](GraphModule &m) { m.getGraph().findNode("add")->setArg(0, m.getGraph().findNode("conv")); });
  check([](GraphModule &m) { m.setMeta("k", 1); });
}

TEST_CASE("saving writes text and weights, and loading maps them back") {
  TemporaryFolder folder;
  std::string path = folder.getPath("net.int8.qfx");
  GraphModule model = parseOrFail(R"(qfx 1
module conv : torch.nn.Conv2d(in_channels=1, out_channels=2, kernel_size=(3, 3), bias=False)
module obs : torch.ao.quantization.observer.MinMaxObserver()
parameter conv.weight : f32[2, 1, 3, 3] = random(seed=7)
buffer obs.eps : f32[1] = 1.1920928955078125e-07
buffer obs.min_val : f32[] = inf
buffer obs.max_val : f32[] = -inf
buffer table : qint8[2, 3]{axis=0, scales=[0.5, 0.1], zero_points=[0, -3]} = [[1, 2, 3], [-128, 0, 127]]
buffer packed : quint4x2[3, 3]{axis=0, scales=[0.5, 0.25, 1.0], zero_points=[0.5, 0.0, -1.5]} = [[1, 2, 3], [4, 5, 6], [7, 8, 15]]
buffer half : f16[2] = [0.1, 65504]
buffer brain : bf16[2] = [0.1, 3e38]
buffer eight : f8e5m2[2] = [1, 255]
buffer nothing : f32[0, 4] = 0
graph(%x) {
  %conv = call_module[conv](%x)
  %obs = call_module[obs](%conv)
  return %obs
}
)");
  REQUIRE_OK(saveModel(model, path));
  CHECK(llvm::sys::fs::exists(folder.getPath("net.int8.safetensors")));
  std::string text = readFileOrFail(path);
  CHECK(llvm::StringRef(text).contains("weights \"net.int8.safetensors\""));
  CHECK(!llvm::StringRef(text).contains("random"));
  CHECK(!llvm::StringRef(text).contains("conv.weight")); // the class says that it is there
  CHECK(listFiles(folder.getPath(""), "").size() == 2);   // no temporary file is left

  std::vector<Diagnostic> warnings;
  LoadOptions options;
  options.warnings = &warnings;
  auto loaded = loadModel(path, options);
  REQUIRE_OK(loaded.takeError());
  CHECK(warnings.empty());
  std::string why;
  bool same = isIdentical(model, *loaded, &why);
  INFO(why);
  CHECK(same);
  // Saving over the file whose mapping the model holds, and once more the same bytes.
  std::string weights = readFileOrFail(folder.getPath("net.int8.safetensors"));
  REQUIRE_OK(saveModel(*loaded, path));
  CHECK(readFileOrFail(path) == text);
  CHECK(readFileOrFail(folder.getPath("net.int8.safetensors")) == weights);
  CHECK(isIdentical(model, *loaded));
}

TEST_CASE("weights that nobody declares are a warning, missing ones an error with the nearest key") {
  TemporaryFolder folder;
  NamedTensors tensors;
  tensors.emplace_back("fc.weight", Tensor::of<float>(DType::Float32, {1, 2}, {1.f, 2.f}));
  tensors.emplace_back("fc.biass", Tensor::of<float>(DType::Float32, {1}, {1.f}));
  REQUIRE_OK(writeSafetensorsFile(folder.getPath("w.safetensors"), tensors));
  auto load = [&](const char *bias, std::vector<Diagnostic> *warnings) {
    auto source = std::make_shared<SourceText>();
    source->name = folder.getPath("net.qfx");
    source->text = std::string("qfx 1\nweights \"w.safetensors\"\nmodule fc : torch.nn.Linear(in_features=2, "
                               "out_features=1, bias=") +
                   bias + ")\ngraph(%x) {\n  %fc = call_module[fc](%x)\n  return %fc\n}\n";
    LoadOptions options;
    options.warnings = warnings;
    return parseQfx(source, options);
  };
  std::vector<Diagnostic> warnings;
  REQUIRE_OK(load("False", &warnings).takeError());
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].severity == Severity::Warning);
  CHECK(llvm::StringRef(warnings[0].message).contains("'fc.biass'"));
  std::vector<Diagnostic> errors = takeDiagnostics(load("True", nullptr).takeError());
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].code == "tensor_missing");
  CHECK(llvm::StringRef(errors[0].message).contains("'fc.bias'"));
  CHECK(llvm::StringRef(errors[0].message).contains("did you mean 'fc.biass'?"));
  CHECK(errors[0].loc.line == 3);
}

TEST_CASE("limits of the loader refuse what is too large") {
  auto source = std::make_shared<SourceText>(SourceText{"net.qfx", kSmall});
  LoadOptions options;
  options.limits.maxFileBytes = 10;
  CHECK(getCodes(parseQfx(source, options).takeError()) == "tensor_size");
  options = {};
  options.limits.maxTensorBytes = 71;
  CHECK(getCodes(parseQfx(source, options).takeError()) == "tensor_size");
  options = {};
  options.limits.maxGeneratedBytes = 71;
  CHECK(getCodes(parseQfx(source, options).takeError()) == "tensor_size");
  options.limits.maxGeneratedBytes = 72;
  CHECK(getCodes(parseQfx(source, options).takeError()).empty());
}

TEST_CASE("unreadable and unwritable paths are errors") {
  CHECK(getCodes(loadModel("/nonexistent/net.qfx").takeError()) == "file_read");
  CHECK(getCodes(loadModel(QFX_SOURCE_DIR).takeError()) == "file_read");
  GraphModule model = parseOrFail(kSmall);
  CHECK(getCodes(saveModel(model, "/nonexistent/net.qfx")) == "file_write");
  TemporaryFolder folder;
  CHECK(getCodes(saveModel(model, folder.getPath(""))) == "file_write");
  // The weights cannot be written: then no text appears either.
  llvm::sys::fs::create_directory(folder.getPath("net.safetensors"));
  CHECK(getCodes(saveModel(model, folder.getPath("net.qfx"))) == "file_write");
  CHECK(!llvm::sys::fs::exists(folder.getPath("net.qfx")));
  CHECK(listFiles(folder.getPath(""), "").size() == 1);
}

TEST_CASE("deep nesting is an error, not a crash") {
  std::string open(10000, '['), close(10000, ']');
  CHECK(getCodes(parse("qfx 1\nmeta m = " + open + close + "\ngraph() {\n  return None\n}\n").takeError()) ==
        "text_syntax");
  CHECK(getCodes(parse("qfx 1\nbuffer b : f32[1] = " + open + "\ngraph() {\n  return None\n}\n").takeError()) ==
        "text_syntax");
  std::string path = "a";
  for (int i = 0; i < 10000; ++i)
    path += ".a";
  CHECK(getCodes(parse("qfx 1\nmodule " + path + " : torch.nn.ReLU()\ngraph() {\n  return None\n}\n").takeError()) ==
        "module_path");
  // Sharing doubles the number of paths with every line.
  std::string lines = "qfx 1\nmodule m0 : torch.nn.ReLU()\n";
  for (int i = 1; i < 40; ++i) {
    std::string self = "m" + std::to_string(i), below = "m" + std::to_string(i - 1);
    lines += "module " + self + ".a = " + below + "\nmodule " + self + ".b = " + below + "\n";
  }
  CHECK(getCodes(parse(lines + "graph() {\n  return None\n}\n").takeError()) == "module_path");
}

TEST_CASE("a digest stands for a large tensor") {
  GraphModule model = parseOrFail(kSmall);
  PrintOptions options;
  options.large = PrintOptions::Large::Digest;
  options.maxInlineElements = 4;
  std::string text = print(model, options);
  CHECK(llvm::StringRef(text).contains("parameter conv.weight : f32[2, 1, 3, 3]  # 18 elements"));
  options.maxInlineElements = 18;
  CHECK(!llvm::StringRef(print(model, options)).contains("#"));
}

TEST_CASE("a text that is not UTF-8 is refused with its place") {
  auto errors = takeDiagnostics(parse("qfx 1\n# a\xff\ngraph() {\n  return None\n}\n").takeError());
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].loc.line == 2);
  CHECK(errors[0].loc.column == 4);
}

TEST_CASE("invalid files report what their comments expect, and nothing else") {
  for (const std::string &file : listFiles(QFX_SOURCE_DIR "/test/ir", "-invalid.qfx"))
    for (const std::string &part : splitParts(readFileOrFail(file)))
      checkExpectedErrors(file, part);
}
