// Every observer x dtype x qscheme x reduce_range x range x axis over all input families against PyTorch (test/golden/observers/make_sweep.py).
#include "Catch.h"
#include "backends/config/QConfig.h"
#include "ir/Module.h"
#include "ir/Ops.h"
#include "unit/backends/observe/GoldenFamilies.h"

#include "llvm/ADT/StringExtras.h"

#include <bit>
#include <cmath>
#include <map>

using namespace qfx;
using namespace qfx::test;
using nlohmann::json;

static int64_t getBits(float value) {
  return std::isnan(value) ? 0x7fc00000 : std::bit_cast<uint32_t>(value + 0.0f);
}

static std::string hashNumbers(const std::vector<int64_t> &numbers) { return hashBytes(numbers.data(), numbers.size() * 8); }

static std::string describe(const QParams &qparams) {
  std::vector<int64_t> zeroPoints = qparams.zeroPoints;
  for (float zeroPoint : qparams.floatZeroPoints)
    zeroPoints.push_back(getBits(zeroPoint));
  if (!isPerChannel(qparams.scheme))
    return llvm::utohexstr(static_cast<uint64_t>(getBits(qparams.scales[0])), /*LowerCase=*/true) + ":" + std::to_string(zeroPoints[0]);
  std::vector<int64_t> numbers;
  for (float scale : qparams.scales)
    numbers.push_back(getBits(scale));
  numbers.insert(numbers.end(), zeroPoints.begin(), zeroPoints.end());
  return hashNumbers(numbers);
}

/// The state dict in PyTorch's order.
static std::string hashState(const Module &module) {
  std::vector<int64_t> numbers;
  for (const ModuleTensor &entry : getModuleTensors(module)) {
    const Tensor &tensor = module.getTensor(entry.name);
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      numbers.push_back(getBits(static_cast<float>(tensor.getElementAsDouble(i))));
  }
  return hashNumbers(numbers);
}

static ObserverSpec makeSpecOf(const json &row) {
  ObserverSpec spec;
  spec.observerClass = &requireModuleClass("torch.ao.quantization.observer." + row["class"].get<std::string>());
  spec.isPartial = true;
  for (const auto &[key, value] : row["args"].items()) {
    if (key == "dtype")
      spec.keywords.emplace_back(key, *parseTorchDType(value.get<std::string>()));
    else if (key == "qscheme")
      spec.keywords.emplace_back(key, *parseQScheme(value.get<std::string>()));
    else if (value.is_boolean())
      spec.keywords.emplace_back(key, value.get<bool>());
    else if (value.is_number_integer())
      spec.keywords.emplace_back(key, value.get<int64_t>());
    else
      spec.keywords.emplace_back(key, value.get<double>());
  }
  return spec;
}

static std::string run(Module &module, const std::vector<Batch> &batches) {
  for (size_t k = 0; k < batches.size(); ++k)
    if (llvm::Error err = observe(module, batches[k].get())) {
      llvm::consumeError(std::move(err));
      return "B" + std::to_string(k);
    }
  llvm::Expected<QParams> qparams = calculateQParams(module);
  if (qparams)
    return describe(*qparams);
  llvm::consumeError(qparams.takeError());
  return "Q";
}

TEST_CASE("observers equal PyTorch in every configuration", "[observe]") {
  const json &golden = getGolden("sweep");
  std::map<std::string, std::vector<Batch>> plain, channel;
  for (const json &name : golden["families"])
    plain[name] = makeFamily(name);
  for (const json &name : golden["channel_families"])
    channel[name] = makeChannelFamily(name);
  for (const json &row : golden["rows"]) {
    INFO(row["class"].dump() << row["args"].dump());
    llvm::Expected<ModuleRef> fresh = makeSpecOf(row).build();
    if (!fresh) {
      llvm::consumeError(fresh.takeError());
      CHECK(row["results"] == "E");
      continue;
    }
    REQUIRE(row["results"] != "E");
    const bool isByChannel = row["args"].contains("ch_axis");
    const json &families = golden[isByChannel ? "channel_families" : "families"];
    for (size_t f = 0; f < families.size(); ++f) {
      const std::string family = families[f], expected = row["results"][f];
      INFO("family " << family);
      ModuleRef module = (*fresh)->deepCopy();
      CHECK(run(*module, (isByChannel ? channel : plain)[family]) == expected);
      const std::string axis = isByChannel ? std::to_string(row["args"]["ch_axis"].get<int64_t>()) : "None";
      const auto state = golden["buffers"].find(row["class"].get<std::string>() + "/" + axis + "/" + family);
      if (expected[0] != 'B' && expected[0] != 'Q' && state != golden["buffers"].end())
        CHECK(hashState(*module) == state->get<std::string>());
    }
  }
}
