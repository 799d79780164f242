// A module of every quantized, dynamic and reference class: torch 2.13's outputs and state dict (test/golden/modules).
#include "PassTest.h"
#include "backends/runtime/Program.h"
#include "ir/weights/Safetensors.h"
#include "passes/StateDict.h"

#include <algorithm>
#include <cmath>

using namespace qfx;

static const std::string kFolder = std::string(QFX_GOLDEN_DIR) + "/modules";

static NamedTensors readTensors(const std::string &name) { return require(require(SafetensorsFile::open(kFolder + "/" + name)).readAll()); }

/// Codes one step apart differ by far more than the rounding of float results.
static void checkOutputs(const GraphModule &model) {
  auto program = require(Program::compile(model));
  auto results = require(program->run(readTensors("input.safetensors")));
  NamedTensors expected = readTensors("expected.safetensors");
  std::sort(expected.begin(), expected.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  REQUIRE(results.size() == expected.size());
  for (size_t k = 0; k < expected.size(); ++k) {
    const Tensor &actual = results[k].value.tensor, &golden = expected[k].second;
    REQUIRE(actual.getSizes() == golden.getSizes());
    double worst = 0;
    for (int64_t i = 0; i < golden.getNumElements(); ++i)
      worst = std::max(worst, std::abs(actual.getElementAsDouble(i) - golden.getElementAsDouble(i)));
    INFO("output " << k << ", '" << results[k].name << "'");
    CHECK(worst < 3e-6);
  }
}

TEST_CASE("modules of every class give PyTorch's outputs", "[passes][modules][golden]") {
  checkOutputs(require(loadModel(kFolder + "/modules.qfx")));
}

/// What upstream does not save of its activation modules (operators 13.1).
static std::vector<std::string> getKeysOfQfx() {
  std::vector<std::string> keys = {"images.1.prelu.weight"};
  for (const char *name : {"elu", "prelu", "sigmoid", "softmax", "softmax_none"})
    for (const char *part : {"scale", "zero_point"})
      keys.push_back(std::string("images.1.") + name + "." + part);
  return keys;
}

TEST_CASE("the state of modules of every class has PyTorch's keys and values", "[passes][modules][state][golden]") {
  const GraphModule model = require(loadModel(kFolder + "/modules.qfx"));
  const StateDict own = getStateDict(model), golden = require(loadStateDictFile(kFolder + "/state.safetensors"));
  std::vector<std::string> ownKeys, goldenKeys = getKeysOfQfx();
  for (const auto &[key, tensor] : own.tensors)
    ownKeys.push_back(key);
  for (const auto &[key, tensor] : golden.tensors)
    goldenKeys.push_back(key);
  std::sort(ownKeys.begin(), ownKeys.end());
  std::sort(goldenKeys.begin(), goldenKeys.end());
  CHECK(ownKeys == goldenKeys);
  for (const auto &[key, expected] : golden.tensors) {
    INFO(key);
    const Tensor *actual = own.find(key);
    REQUIRE(actual);
    CHECK(toString(actual->getType()) == toString(expected.getType()));
    bool isSame = actual->getNumElements() == expected.getNumElements();
    for (int64_t i = 0; isSame && i < expected.getNumElements(); ++i)
      isSame = actual->getElementAsDouble(i) == expected.getElementAsDouble(i);
    CHECK(isSame);
  }
  StringPairs ownFacts = own.metadata, goldenFacts = golden.metadata;
  llvm::erase_if(goldenFacts, [](const auto &fact) { return !llvm::StringRef(fact.first).endswith("dtype") && !llvm::StringRef(fact.first).endswith("qscheme"); });
  std::sort(ownFacts.begin(), ownFacts.end());
  std::sort(goldenFacts.begin(), goldenFacts.end());
  CHECK(ownFacts == goldenFacts);
}

TEST_CASE("modules of every class that load PyTorch's state give PyTorch's outputs", "[passes][modules][state][golden]") {
  GraphModule model = require(loadModel(kFolder + "/modules.qfx"));
  model.getRoot().forEachModule([](const std::string &, const ModuleRef &module) {
    if (module->getClassName() == "torch.ao.nn.quantized.PReLU")
      return; // upstream does not save its slope
    auto clear = [](const Tensor &tensor) {
      return Tensor::build(tensor.getDType(), tensor.getSizes(), [](MutableBytes) {}, tensor.getQuantizer());
    };
    for (const auto &[name, tensor] : Module::Named<Tensor>(module->getParameters()))
      module->setParameter(name, clear(tensor));
    for (const auto &[name, tensor] : Module::Named<Tensor>(module->getBuffers()))
      if (name != "scale") // of Quantize: what is no scale is refused
        module->setBuffer(name, clear(tensor));
    if (module->findAttribute("weight_qscheme") && module->findTensor("weight")) {
      module->setAttribute("weight_qscheme", Argument(QScheme::PerChannelAffine));
      module->setAttribute("weight_dtype", DType::QInt32);
      module->setAttribute("weight_axis", int64_t(1));
    }
  });
  CHECK(describe(loadStateDict(model, require(loadStateDictFile(kFolder + "/state.safetensors")))) == "");
  checkOutputs(model);
}

TEST_CASE("keys of older versions are read", "[passes][state]") {
  GraphModule model = parseModel("module fc : torch.ao.nn.quantized.Linear(in_features=2, out_features=1)\n"
                                 "parameter fc.weight : qint8[1, 2]{scale=0.5, zero_point=0} = 0\nparameter fc.bias : f32[1] = 0\n"
                                 "module conv : torch.ao.nn.intrinsic.qat.ConvBn1d(in_channels=1, out_channels=1, kernel_size=1)\n"
                                 "parameter conv.weight : f32[1, 1, 1] = 0\n"
                                 "module conv.bn : torch.nn.BatchNorm1d(num_features=1)\n"
                                 "parameter conv.bn.weight : f32[1] = 0\nparameter conv.bn.bias : f32[1] = 0\n"
                                 "buffer conv.bn.running_mean : f32[1] = 0\nbuffer conv.bn.running_var : f32[1] = 0\n"
                                 "buffer conv.bn.num_batches_tracked : i64[] = 0\n"
                                 "graph(%x : f32[1, 2]) {\n  return %x\n}\n");
  const Tensor weight = Tensor::build(DType::QInt8, {1, 2}, [](MutableBytes bytes) { bytes[1] = std::byte(7); },
                                      std::make_shared<const Quantizer>(Quantizer::perTensor(0.25, 1)));
  const Tensor one = Tensor::of<float>(DType::Float32, {1}, {1}), two = Tensor::of<float>(DType::Float32, {1}, {2});
  const NamedTensors common = {{"fc.scale", Tensor::of<float>(DType::Float32, {}, {0.5f})},
                               {"fc.zero_point", Tensor::of<int64_t>(DType::Int64, {}, {3})},
                               {"conv.weight", Tensor::of<float>(DType::Float32, {1, 1, 1}, {5})},
                               {"conv.gamma", one}, {"conv.beta", two}, {"conv.running_mean", one}, {"conv.running_var", two},
                               {"conv.num_batches_tracked", Tensor::of<int64_t>(DType::Int64, {}, {9})}};
  for (const char *prefix : {"fc.", "fc._packed_params."}) {
    INFO(prefix);
    StateDict state{common, {}};
    state.tensors.emplace_back(std::string(prefix) + "weight", weight);
    state.tensors.emplace_back(std::string(prefix) + "bias", two);
    GraphModule loaded = model.clone();
    REQUIRE(describe(loadStateDict(loaded, state)) == "");
    const Module &root = loaded.getRoot();
    CHECK(root.findTensorAt("fc.weight")->equals(weight));
    CHECK(root.findTensorAt("fc.bias")->equals(two));
    CHECK(root.findTensorAt("conv.bn.weight")->equals(one));
    CHECK(root.findTensorAt("conv.bn.bias")->equals(two));
    CHECK(root.findTensorAt("conv.bn.running_var")->equals(two));
    CHECK(root.findTensorAt("conv.bn.num_batches_tracked")->getElementAsDouble(0) == 9);
  }
}
