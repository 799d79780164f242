// Observers and fake-quantizers against PyTorch: parameters and buffers after the same batches, to the bit.
#include "Catch.h"
#include "backends/config/QConfig.h"
#include "ir/Module.h"
#include "ir/Ops.h"
#include "unit/backends/observe/GoldenFamilies.h"

#include <cmath>

using namespace qfx;
using namespace qfx::test;
using nlohmann::json;

static Argument toKeyword(const std::string &key, const json &value) {
  if (key == "dtype")
    return Argument(*parseTorchDType(value.get<std::string>()));
  if (key == "qscheme")
    return Argument(*parseQScheme(value.get<std::string>()));
  if (value.is_boolean())
    return Argument(value.get<bool>());
  if (value.is_number_integer())
    return Argument(value.get<int64_t>());
  return Argument(value.get<double>());
}

static ObserverSpec makeSpecOf(const json &row) {
  if (row.contains("alias"))
    return *findObserverAlias(row["alias"].get<std::string>());
  ObserverSpec spec;
  spec.observerClass = &requireModuleClass("torch.ao.quantization.observer." + row["class"].get<std::string>());
  spec.isPartial = true;
  for (const auto &[key, value] : row["args"].items())
    spec.keywords.emplace_back(key, toKeyword(key, value));
  return spec;
}

static bool isSameFloat(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

static void compareFloats(const std::string &what, llvm::ArrayRef<float> found, const json &bits) {
  INFO(what);
  REQUIRE(found.size() == bits.size());
  for (size_t i = 0; i < found.size(); ++i) {
    INFO("element " << i << ": found " << found[i] << ", PyTorch has " << floatFromBits(bits[i].get<uint32_t>()));
    CHECK(isSameFloat(found[i], floatFromBits(bits[i].get<uint32_t>())));
  }
}

static void compareBuffers(const Module &module, const json &buffers) {
  for (const auto &[name, expected] : buffers.items()) {
    const Tensor *tensor = module.findTensorAt(name);
    REQUIRE(tensor);
    if (expected.is_string()) {
      INFO(name);
      CHECK(hashBytes(tensor->getBytes(), tensor->getSizeBytes()) == expected.get<std::string>());
    } else if (tensor->getDType() == DType::Float32) {
      compareFloats(name, tensor->getData<float>(), expected);
    } else {
      REQUIRE(tensor->getNumElements() == static_cast<int64_t>(expected.size()));
      for (int64_t i = 0; i < tensor->getNumElements(); ++i)
        CHECK(tensor->getElementAsDouble(i) == expected[static_cast<size_t>(i)].get<double>());
    }
  }
}

/// Runs one row.  PyTorch's errors must be errors here, at the same step.
static void checkRow(const json &row, const std::vector<Batch> &batches) {
  INFO(row.dump());
  std::string error = row.value("error", "");
  llvm::Expected<ModuleRef> module = makeSpecOf(row).build();
  if (!module) {
    INFO(llvm::toString(module.takeError()));
    CHECK(error == "construct");
    return;
  }
  REQUIRE(error != "construct");
  for (size_t k = 0; k < batches.size(); ++k)
    if (llvm::Error err = observe(**module, batches[k].get())) {
      INFO(llvm::toString(std::move(err)));
      CHECK(error == "batch " + std::to_string(k));
      return;
    }
  llvm::Expected<QParams> qparams = calculateQParams(**module);
  REQUIRE(static_cast<bool>(qparams));
  REQUIRE(error.empty());
  compareFloats("scale", qparams->scales, row["scale"]);
  if (!qparams->floatZeroPoints.empty())
    compareFloats("zero point", qparams->floatZeroPoints, row["zero_point"]);
  else
    CHECK(qparams->zeroPoints == row["zero_point"].get<std::vector<int64_t>>());
  compareBuffers(**module, row["buffers"]);
}

TEST_CASE("per-tensor observers equal PyTorch", "[observe]") {
  for (const json &row : getGolden("per_tensor")["rows"])
    checkRow(row, makeFamily(row["family"]));
}

TEST_CASE("per-channel observers equal PyTorch", "[observe]") {
  for (const json &row : getGolden("per_channel")["rows"])
    checkRow(row, makeChannelFamily(row["family"]));
}

TEST_CASE("histogram observers equal PyTorch", "[observe]") {
  for (const json &row : getGolden("histogram")["rows"])
    checkRow(row, makeFamily(row["family"]));
}

TEST_CASE("fake-quantizers observe like PyTorch's", "[observe]") {
  for (const json &row : getGolden("fake_quantize")["rows"])
    checkRow(row, row["is_per_channel"] ? makeChannelFamily(row["family"]) : makeFamily(row["family"]));
}

TEST_CASE("weights are quantized like PyTorch's modules do it", "[observe]") {
  for (const json &row : getGolden("quantize")["rows"]) {
    INFO(row.dump());
    Batch batch = makeChannelFamily(row["family"]).front();
    auto module = findObserverAlias(row["alias"].get<std::string>())->build();
    REQUIRE(static_cast<bool>(module));
    REQUIRE_FALSE(static_cast<bool>(observe(**module, batch.get())));
    Tensor weight = Tensor::of<float>(DType::Float32, batch.sizes, batch.values);
    llvm::Expected<Tensor> quantized = quantizeTensor(weight, llvm::cantFail(calculateQParams(**module)));
    REQUIRE(static_cast<bool>(quantized));
    CHECK(hashBytes(quantized->getBytes(), quantized->getSizeBytes()) == row["codes"].get<std::string>());
    Tensor values = dequantizeTensor(*quantized);
    CHECK(hashBytes(values.getBytes(), values.getSizeBytes()) == row["values"].get<std::string>());
  }
}
