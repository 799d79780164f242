// State dicts under PyTorch's keys: torch 2.13's own (test/golden/imported), saving, loading, sizes.
#include "PassTest.h"
#include "backends/runtime/Program.h"
#include "ir/weights/Safetensors.h"
#include "passes/StateDict.h"
#include "passes/eager/Eager.h"

#include "llvm/Support/FileSystem.h"

#include <algorithm>

using namespace qfx;

static std::string getFolder(const std::string &name) { return std::string(QFX_GOLDEN_DIR) + "/imported/" + name; }

static std::vector<std::string> getKeys(const StateDict &state) {
  std::vector<std::string> keys;
  for (const auto &[key, tensor] : state.tensors)
    keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

static Tensor runModel(const GraphModule &model, const std::string &folder) {
  auto inputs = require(require(SafetensorsFile::open(folder + "/input.safetensors")).readAll());
  auto program = require(Program::compile(model));
  return require(program->run(inputs)).front().value.tensor;
}

/// Every tensor zero or one step away: what loading must put right.
static void disturb(GraphModule &model) {
  auto change = [](Module &module) {
    for (const auto &[name, tensor] : Module::Named<Tensor>(module.getParameters()))
      module.setParameter(name, Tensor::build(tensor.getDType(), tensor.getSizes(), [](MutableBytes) {}, tensor.getQuantizer()));
    if (module.findAttribute("zero_point") && module.findAttribute("scale"))
      module.setAttribute("scale", 123.0);
  };
  change(model.getRoot());
  model.getRoot().forEachModule([&](const std::string &, const ModuleRef &module) { change(*module); });
}

TEST_CASE("the state dict of a converted model has PyTorch's keys and values", "[passes][state][golden]") {
  std::string folder = getFolder(GENERATE(as<std::string>(), "Convolutions", "Sequence"));
  INFO(folder);
  GraphModule model = require(loadModel(folder + "/converted.qfx"));
  StateDict own = getStateDict(model), golden = require(loadStateDictFile(folder + "/state.safetensors"));
  std::vector<std::string> keys = getKeys(own);
  // QFX saves the output parameters of activation modules, which upstream 2.13 keeps for some classes only.
  for (const std::string &key : getKeys(golden)) {
    INFO(key);
    REQUIRE(std::find(keys.begin(), keys.end(), key) != keys.end());
    const Tensor &expected = *golden.find(key), &actual = *own.find(key);
    REQUIRE(actual.getNumElements() == expected.getNumElements());
    bool same = true;
    for (int64_t i = 0; i < expected.getNumElements(); ++i)
      same &= actual.getElementAsDouble(i) == expected.getElementAsDouble(i);
    CHECK(same);
  }
}

TEST_CASE("a model that loads PyTorch's state dict gives PyTorch's model's bits", "[passes][state][golden]") {
  std::string folder = getFolder(GENERATE(as<std::string>(), "Convolutions", "Sequence"));
  INFO(folder);
  GraphModule model = require(loadModel(folder + "/converted.qfx"));
  Tensor expected = runModel(model, folder);
  disturb(model);
  CHECK_FALSE(runModel(model, folder).equals(expected));
  CHECK(describe(loadStateDict(model, require(loadStateDictFile(folder + "/state.safetensors")))) == "");
  CHECK(runModel(model, folder).equals(expected));
}

TEST_CASE("saved, reloaded, the same state", "[passes][state]") {
  GraphModule model = require(loadModel(getFolder("Convolutions") + "/converted.qfx"));
  llvm::SmallString<128> path;
  REQUIRE_FALSE(llvm::sys::fs::createTemporaryFile("qfx-state", "safetensors", path));
  CHECK(describe(saveStateDictFile(model, path)) == "");
  StateDict before = getStateDict(model), after = require(loadStateDictFile(path));
  llvm::sys::fs::remove(path);
  CHECK(getKeys(before) == getKeys(after));
  for (const auto &[key, tensor] : before.tensors)
    CHECK(after.find(key)->equals(tensor));
}

TEST_CASE("a state dict of another model is refused whole", "[passes][state]") {
  GraphModule model = parseModel("module fc : torch.nn.Linear(in_features=2, out_features=1)\n"
                                 "parameter fc.weight : f32[1, 2] = [[1, 2]]\nparameter fc.bias : f32[1] = [3]\n"
                                 "graph(%x : f32[1, 2]) {\n  %fc = call_module[fc](%x)\n  return %fc\n}\n");
  StateDict state;
  state.tensors.emplace_back("fc.weight", Tensor::of<float>(DType::Float32, {1, 2}, {5, 6}));
  state.tensors.emplace_back("fc.extra", Tensor::of<float>(DType::Float32, {1}, {5}));
  CHECK(describe(loadStateDict(model, state)) ==
        "the state dict does not fit the model: missing 'fc.bias'; unexpected 'fc.extra' [state_dict_keys]");
  CHECK(model.getRoot().findTensorAt("fc.weight")->getData<float>()[0] == 1);
  state.tensors = {{"fc.weight", Tensor::of<float>(DType::Float32, {2, 1}, {5, 6})}, {"fc.bias", Tensor::of<float>(DType::Float32, {1}, {5})}};
  CHECK(describe(loadStateDict(model, state)) == "state dict entry 'fc.weight' is f32[2, 1], the model has f32[1, 2] [state_dict_tensor]");
}

TEST_CASE("a quantized model reloaded from disk gives the same bits and is a quarter of the float one", "[passes][state]") {
  GraphModule model = parseModel("module fc : torch.nn.Linear(in_features=512, out_features=512, bias=False)\n"
                                 "parameter fc.weight : f32[512, 512] = random(seed=3)\n"
                                 "graph(%x : f32[2, 512]) {\n  %fc = call_module[fc](%x)\n  return %fc\n}\n");
  llvm::SmallString<128> folder;
  REQUIRE_FALSE(llvm::sys::fs::createUniqueDirectory("qfx-size", folder));
  std::string floatPath = (folder + "/float.qfx").str(), quantizedPath = (folder + "/int8.qfx").str();
  REQUIRE(describe(saveModel(model, floatPath)) == "");
  TestContext context("native");
  GraphModule quantized =
      require(quantizeDynamicEager(model.clone(), require(getDefaultDynamicSpec(DType::QInt8)), std::nullopt, context.context));
  REQUIRE(describe(saveModel(quantized, quantizedPath)) == "");
  auto sizeOf = [&](const char *name) {
    uint64_t size = 0;
    REQUIRE_FALSE(llvm::sys::fs::file_size(folder + name, size));
    return static_cast<double>(size);
  };
  double factor = sizeOf("/float.safetensors") / sizeOf("/int8.safetensors");
  CHECK(factor > 3.9);
  CHECK(factor < 4.1);
  NamedTensors inputs = {{"x", Tensor::build(DType::Float32, {2, 512}, [](MutableBytes bytes) {
                            auto *values = reinterpret_cast<float *>(bytes.data());
                            for (int i = 0; i < 1024; ++i)
                              values[i] = static_cast<float>(i % 37) - 18;
                          })}};
  auto runOn = [&](const GraphModule &any) {
    auto program = require(Program::compile(any));
    return require(program->run(inputs)).front().value.tensor;
  };
  CHECK(runOn(quantized).equals(runOn(require(loadModel(quantizedPath)))));
  llvm::sys::fs::remove_directories(folder);
}

TEST_CASE("dynamic recurrent layers have the keys of their packed objects", "[passes][state]") {
  std::string text = "module lstm : torch.ao.nn.quantized.dynamic.LSTM(input_size=1, hidden_size=1, num_layers=2, bidirectional=True)\n"
                     "module cell : torch.ao.nn.quantized.dynamic.GRUCell(input_size=1, hidden_size=1)\n";
  std::vector<std::string> expected;
  int number = 0;
  auto add = [&](const std::string &path, const std::string &type) {
    text += "parameter " + path + " : " + type + " = " + std::to_string(++number) + "\n";
  };
  const std::string kSuffixes[] = {"_l0", "_l0_reverse", "_l1", "_l1_reverse"};
  for (int k = 0; k < 4; ++k) {
    std::string width = k < 2 ? "1" : "2";
    add("lstm.weight_ih" + kSuffixes[k], "qint8[4, " + width + "]{scale=0.5, zero_point=0}");
    add("lstm.weight_hh" + kSuffixes[k], "qint8[4, 1]{scale=0.5, zero_point=0}");
    add("lstm.bias_ih" + kSuffixes[k], "f32[4]");
    add("lstm.bias_hh" + kSuffixes[k], "f32[4]");
    for (int i = 0; i < 4; ++i)
      expected.push_back("lstm._all_weight_values." + std::to_string(k) + ".param." + std::to_string(i));
  }
  for (const char *part : {"ih", "hh"}) {
    add(std::string("cell.weight_") + part, "qint8[3, 1]{scale=0.5, zero_point=0}");
    add(std::string("cell.bias_") + part, "f32[3]");
    expected.push_back(std::string("cell._packed_weight_") + part + ".0");
    expected.push_back(std::string("cell._packed_weight_") + part + ".1");
  }
  text += "graph(%x : f32[1, 1, 1]) {\n  %lstm = call_module[lstm](%x)\n  return %x\n}\n";
  GraphModule model = parseModel(text);
  StateDict state = getStateDict(model);
  std::sort(expected.begin(), expected.end());
  CHECK(getKeys(state) == expected);
  // the order in a packed object is w_ih, w_hh, b_ih, b_hh; layers before directions
  CHECK(state.find("lstm._all_weight_values.1.param.1")->getElementAsDouble(0) == 6);
  CHECK(state.find("lstm._all_weight_values.2.param.0")->getElementAsDouble(0) == 9);
  CHECK(state.find("lstm._all_weight_values.2.param.0")->getSizes() == llvm::ArrayRef<int64_t>({4, 2}));
  CHECK(state.find("lstm._all_weight_values.3.param.3")->getElementAsDouble(0) == 16);
  CHECK(state.find("cell._packed_weight_hh.0")->getElementAsDouble(0) == 19);
  GraphModule other = model.clone();
  disturb(other);
  CHECK(!isIdentical(model, other));
  REQUIRE(describe(loadStateDict(other, state)) == "");
  CHECK(isIdentical(model, other));
}
