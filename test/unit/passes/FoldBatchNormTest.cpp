// Folded batch norms have PyTorch's bits (test/golden/make_fold_batch_norm.py).
#include "passes/fuse/FoldBatchNorm.h"
#include "PassTest.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"

#include "llvm/Support/MemoryBuffer.h"
#include <nlohmann/json.hpp>

using namespace qfx;

static Tensor readTensor(const nlohmann::json &json) {
  std::vector<int64_t> sizes = json["sizes"];
  std::vector<uint32_t> bits = json["bits"];
  return Tensor::build(DType::Float32, sizes,
                       [&](MutableBytes bytes) { std::memcpy(bytes.data(), bits.data(), bytes.size()); });
}

static void setOptional(Module &module, const char *name, const nlohmann::json &json, bool isBuffer) {
  if (json.is_null())
    return;
  if (isBuffer)
    module.setBuffer(name, readTensor(json));
  else
    module.setParameter(name, readTensor(json));
}

TEST_CASE("folding a batch norm gives PyTorch's bits", "[fuse][golden]") {
  auto buffer = llvm::MemoryBuffer::getFile(std::string(QFX_GOLDEN_DIR) + "/fold_batch_norm.json");
  REQUIRE(buffer);
  nlohmann::json golden = nlohmann::json::parse((*buffer)->getBuffer().str());
  REQUIRE(golden["cases"].size() == 7);
  for (const nlohmann::json &test : golden["cases"]) {
    INFO(test["name"].get<std::string>());
    Module layer(requireModuleClass(test["layer"].get<std::string>()));
    setOptional(layer, "weight", test["weight"], false);
    setOptional(layer, "bias", test["bias"], false);
    if (layer.getClass()->op != OpKind::Linear)
      layer.setAttribute("groups", test["groups"].get<int64_t>());
    Module bn(requireModuleClass(test["batch_norm"].get<std::string>()));
    bn.setAttribute("eps", test["eps"].get<double>());
    setOptional(bn, "weight", test["gamma"], false);
    setOptional(bn, "bias", test["beta"], false);
    setOptional(bn, "running_mean", test["mean"], true);
    setOptional(bn, "running_var", test["var"], true);
    ModuleRef folded = require(foldBatchNorm(layer, bn, Location()));
    CHECK(folded->getTensor("weight").equals(readTensor(test["folded_weight"])));
    CHECK(folded->getTensor("bias").equals(readTensor(test["folded_bias"])));
    CHECK(folded->getAttribute("bias").getBool());
  }
}

TEST_CASE("a one-feature batch norm folds into a whole linear layer", "[fuse]") {
  Module layer(requireModuleClass("torch.nn.Linear"));
  layer.setParameter("weight", Tensor::of<float>(DType::Float32, {2, 1}, {1.0f, 3.0f}));
  Module bn(requireModuleClass("torch.nn.BatchNorm1d"));
  bn.setAttribute("eps", 0.0);
  bn.setBuffer("running_mean", Tensor::of<float>(DType::Float32, {1}, {1.0f}));
  bn.setBuffer("running_var", Tensor::of<float>(DType::Float32, {1}, {4.0f}));
  ModuleRef folded = require(foldBatchNorm(layer, bn, Location()));
  CHECK(folded->getTensor("weight").getData<float>()[1] == 1.5f);
  CHECK(folded->getTensor("bias").getData<float>()[0] == -0.5f);
}

TEST_CASE("sizes that do not fit are refused", "[fuse]") {
  Module layer(requireModuleClass("torch.nn.Conv2d"));
  layer.setParameter("weight", Tensor::of<float>(DType::Float32, {2, 1, 1, 1}, {1.0f, 3.0f}));
  Module bn(requireModuleClass("torch.nn.BatchNorm2d"));
  bn.setBuffer("running_mean", Tensor::of<float>(DType::Float32, {3}, {1.0f, 1.0f, 1.0f}));
  bn.setBuffer("running_var", Tensor::of<float>(DType::Float32, {3}, {1.0f, 1.0f, 1.0f}));
  CHECK(getError(foldBatchNorm(layer, bn, Location())) ==
        "'torch.nn.Conv2d' has 2 output channels, but the batch norm after it has 3 features [fold_shape]");
}

TEST_CASE("half precision folds in half precision", "[fuse]") {
  Module layer(requireModuleClass("torch.nn.Linear"));
  auto half = [](std::vector<float> values) {
    std::vector<uint16_t> bits;
    for (float value : values)
      bits.push_back(floatToHalf(value));
    return Tensor::of<uint16_t>(DType::Float16, {static_cast<int64_t>(bits.size())}, bits);
  };
  layer.setParameter("weight", half({2.0f}).reshaped({1, 1}));
  Module bn(requireModuleClass("torch.nn.BatchNorm1d"));
  bn.setAttribute("eps", 0.0);
  bn.setBuffer("running_mean", half({0.0f}));
  bn.setBuffer("running_var", half({9.0f}));
  ModuleRef folded = require(foldBatchNorm(layer, bn, Location()));
  CHECK(folded->getTensor("weight").getDType() == DType::Float16);
  // 1/3 in f16 is 0.33325195, times 2 is exact.
  CHECK(folded->getTensor("weight").getElementAsDouble(0) == 0.66650390625);
}
