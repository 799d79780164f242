// Fake-quantize outputs, gradient masks and module states against PyTorch (test/golden/observers/make_fake_quantize.py).
#include "backends/observe/FakeQuantize.h"

#include "Catch.h"
#include "backends/config/QConfig.h"
#include "ir/Module.h"
#include "ir/Ops.h"
#include "unit/backends/observe/GoldenFamilies.h"

#include "llvm/ADT/StringExtras.h"

#include <bit>
#include <cmath>

using namespace qfx;
using namespace qfx::test;
using nlohmann::json;

static int64_t getBits(float value) {
  return std::isnan(value) ? 0x7fc00000 : std::bit_cast<uint32_t>(value + 0.0f);
}
static std::string hashNumbers(const std::vector<int64_t> &numbers) { return hashBytes(numbers.data(), numbers.size() * 8); }

/// The script's text of one element: bits of its own dtype in hex.
static std::string describe(const Tensor &tensor, int64_t index) {
  const double value = tensor.getElementAsDouble(index);
  if (std::isnan(value))
    return "nan";
  uint64_t bits = 0;
  switch (tensor.getDType()) {
  case DType::Float64:
    bits = std::bit_cast<uint64_t>(value + 0.0);
    break;
  case DType::Float32:
    bits = std::bit_cast<uint32_t>(static_cast<float>(value) + 0.0f);
    break;
  default:
    bits = value == 0 ? 0 : tensor.getData<uint16_t>()[static_cast<size_t>(index)];
  }
  return llvm::utohexstr(bits, /*LowerCase=*/true);
}

static Tensor makeInput(DType dtype, const json &doubles) {
  std::vector<double> values;
  for (const json &text : doubles)
    values.push_back(std::stod(text.get<std::string>()));
  const int64_t size = static_cast<int64_t>(values.size());
  return Tensor::build(dtype, {size}, [&](MutableBytes bytes) {
    for (size_t i = 0; i < values.size(); ++i) {
      // torch rounds a double to half by way of float32
      const float single = static_cast<float>(values[i]);
      if (dtype == DType::Float64)
        reinterpret_cast<double *>(bytes.data())[i] = values[i];
      else if (dtype == DType::Float32)
        reinterpret_cast<float *>(bytes.data())[i] = single;
      else
        reinterpret_cast<uint16_t *>(bytes.data())[i] = dtype == DType::Float16 ? floatToHalf(single) : floatToBFloat16(single);
    }
  });
}

static llvm::Expected<FakeQuantized> runFunction(const json &row, const json &doubles) {
  Tensor input = makeInput(*parseTorchDType(row["dtype"].get<std::string>()), doubles);
  const int64_t low = row["range"][0], high = row["range"][1];
  if (!row.contains("axis"))
    return fakeQuantizePerTensor(input, static_cast<float>(row["scale"].get<double>()), row["zero_point"], low, high);
  std::vector<float> scales = row["scales"].get<std::vector<float>>();
  const int64_t axis = row["axis"];
  if (row["is_float"]) {
    std::vector<float> zeroPoints = row["zero_points"].get<std::vector<float>>();
    return fakeQuantizePerChannel(input.reshaped({4, 4, 2}), scales, llvm::ArrayRef<float>(zeroPoints), axis, low, high);
  }
  std::vector<int32_t> zeroPoints = row["zero_points"].get<std::vector<int32_t>>();
  return fakeQuantizePerChannel(input.reshaped({4, 4, 2}), scales, llvm::ArrayRef<int32_t>(zeroPoints), axis, low, high);
}

/// Per channel, PyTorch on x86 turns values beyond 2^63 steps into the lowest code, by a conversion that C++ leaves undefined.  The
/// specification (numerics 1.8) has them saturate: the value of the highest code.
static std::optional<float> findSaturated(const json &row, size_t index, double value) {
  if (!row.contains("axis"))
    return std::nullopt;
  const size_t channel = row["axis"] == 0 ? index / 8 : index / 2 % 4;
  const float scale = row["scales"][channel].get<float>();
  if (!(value / static_cast<double>(scale) >= 0x1p63))
    return std::nullopt;
  const double zeroPoint = row["is_float"] ? static_cast<double>(row["zero_points"][channel].get<float>()) : row["zero_points"][channel].get<double>();
  return static_cast<float>((row["range"][1].get<double>() - zeroPoint) * static_cast<double>(scale));
}

TEST_CASE("fake-quantize functions equal PyTorch", "[observe]") {
  const json &golden = getGolden("fake_forward");
  for (const json &row : golden["functions"]) {
    INFO(row.dump());
    llvm::Expected<FakeQuantized> result = runFunction(row, golden["doubles"]);
    REQUIRE(static_cast<bool>(result));
    for (int64_t i = 0; i < result->output.getNumElements(); ++i) {
      const size_t index = static_cast<size_t>(i);
      INFO("element " << i << ": " << golden["doubles"][index]);
      const double value = std::stod(golden["doubles"][index].get<std::string>());
      if (std::optional<float> saturated = findSaturated(row, index, value))
        CHECK(result->output.getElementAsDouble(i) == static_cast<double>(*saturated));
      else
        CHECK(describe(result->output, i) == row["output"][index].get<std::string>());
      CHECK(result->mask.getElementAsDouble(i) == row["mask"][index].get<double>());
    }
  }
}

static std::string hashState(const Module &module) {
  std::vector<int64_t> numbers;
  auto append = [&](const Module &part) {
    for (const ModuleTensor &entry : getModuleTensors(part)) {
      const Tensor &tensor = part.getTensor(entry.name);
      for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
        const double value = tensor.getElementAsDouble(i);
        numbers.push_back(tensor.getDType() == DType::Float32 ? getBits(static_cast<float>(value)) : static_cast<int64_t>(value));
      }
    }
  };
  append(module);
  append(*module.findChild("activation_post_process"));
  return hashNumbers(numbers);
}

/// Where the specification has another result than PyTorch: the fused operator refuses a range that is infinite or NaN (numerics 2.6), and an infinity
/// that meets finite parameters per channel saturates (1.8; the last step of an embedding, whose averages are NaN by then).
static bool isRefusedHere(const json &row) {
  return row["alias"].get<std::string>().find("fused") != std::string::npos && (row["family"] == "infinity" || row["family"] == "nan");
}
static bool saturatesHere(const json &row, size_t step) {
  return row["alias"].get<std::string>().find("embedding") != std::string::npos && row["family"] == "inf_channel" && step == 4;
}

static void checkModule(const json &row, const json &switches) {
  INFO(row.dump());
  std::vector<Batch> batches = row["is_per_channel"] ? makeChannelFamily(row["family"]) : makeFamily(row["family"]);
  ModuleRef module = llvm::cantFail(findObserverAlias(row["alias"].get<std::string>())->build());
  for (size_t k = 0; k < row["steps"].size(); ++k) {
    INFO("step " << k);
    enableObserver(*module, switches[k][0] == 1);
    enableFakeQuant(*module, switches[k][1] == 1);
    Batch batch = batches[k % batches.size()];
    for (float &value : batch.values)
      value *= static_cast<float>(1.0 + 0.5 * static_cast<double>(k));
    std::vector<float> output(batch.values.size());
    std::vector<uint8_t> mask(batch.values.size());
    llvm::Error err = forwardFakeQuantize(*module, batch.get(), output.data(), mask.data());
    const bool failed = static_cast<bool>(err);
    llvm::consumeError(std::move(err));
    REQUIRE(failed == (row["steps"][k] == "error" || isRefusedHere(row)));
    if (failed)
      return;
    std::vector<int64_t> outputBits, maskBits(mask.begin(), mask.end());
    for (float value : output)
      outputBits.push_back(getBits(value));
    if (!saturatesHere(row, k))
      CHECK(hashNumbers(outputBits) == row["steps"][k][0].get<std::string>());
    CHECK(hashNumbers(maskBits) == row["steps"][k][1].get<std::string>());
    CHECK(hashState(*module) == row["steps"][k][2].get<std::string>());
  }
}

TEST_CASE("fake-quantize modules equal PyTorch in all settings of their switches", "[observe]") {
  const json &golden = getGolden("fake_forward");
  for (const json &row : golden["modules"])
    checkModule(row, golden["switches"]);
}
