// The predicates of torch.ao.quantization.utils give torch 2.13's answers (test/golden/qconfigs/make.py).
#include "Catch.h"
#include "backends/config/QConfigPredicates.h"
#include "unit/backends/config/ConfigTestSupport.h"

#include "nlohmann/json.hpp"

using namespace qfx;
using namespace qfx::test;
using json = nlohmann::ordered_json;

/// The answers in the order of the script.
static json ask(const QConfig &qconfig) {
  QConfigDTypes dtypes = getQConfigDTypes(qconfig);
  json answers = json::array();
  answers.push_back({getDTypeInfo(dtypes.activation).torchName.str(), getDTypeInfo(dtypes.weight).torchName.str(), dtypes.isDynamic});
  for (bool answer : {isActivationDynamicallyQuantized(qconfig), isActivationStaticallyQuantized(qconfig), isActivationInt8Quantized(qconfig),
                      isActivationInt32Quantized(qconfig), isWeightQuantized(qconfig), isWeightStaticallyQuantized(qconfig),
                      isOpInt8DynamicallyQuantized(qconfig)})
    answers.push_back(answer);
  llvm::Expected<QuantType> type = getQuantType(qconfig);
  if (type) {
    answers.push_back(llvm::StringRef(getQuantTypeName(*type)).upper());
  } else {
    CHECK(takeDiagnostics(type.takeError()).front().code == "qconfig_quant_type");
    answers.push_back(nullptr);
  }
  answers.push_back(isActivationMemoryless(qconfig));
  answers.push_back(isReuseInputQConfig(qconfig));
  return answers;
}

TEST_CASE("predicates of named qconfigs are PyTorch's", "[qconfig]") {
  for (const auto &[name, expected] : readGoldenJson("qconfigs/predicates.json")["aliases"].items()) {
    INFO(name);
    json found = ask(*findQConfigAlias(name));
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      if (!expected[i].is_null()) // PyTorch raises: torch.nn.Identity and None have no dtype
        CHECK(found[i] == expected[i]);
  }
}

TEST_CASE("predicates of all pairs of dtypes are PyTorch's", "[qconfig]") {
  const json &grid = readGoldenJson("qconfigs/predicates.json")["grid"];
  CHECK(grid.size() == 288);
  for (const json &row : grid) {
    auto make = [](const json &dtype, bool isDynamic) {
      Argument::DictEntries entries = {{"class", "PlaceholderObserver"}, {"dtype", *parseTorchDType(dtype.get<std::string>())}};
      if (isDynamic)
        entries.emplace_back("is_dynamic", true);
      return llvm::cantFail(ObserverSpec::fromArgument(Argument::dict(std::move(entries))));
    };
    QConfig qconfig{make(row[0], row[2].get<bool>()), make(row[1], false)};
    INFO(row.dump());
    CHECK(ask(qconfig) == row[3]);
  }
}

TEST_CASE("an absent constructor counts as float32", "[qconfig]") {
  QConfig nothing;
  CHECK(getQConfigDTypes(nothing).activation == DType::Float32);
  CHECK_FALSE(isActivationStaticallyQuantized(nothing));
  CHECK_FALSE(isWeightQuantized(nothing));
  CHECK_FALSE(isReuseInputQConfig(nothing));
  for (QuantType type : {QuantType::Dynamic, QuantType::Static, QuantType::WeightOnly})
    CHECK(parseQuantType(getQuantTypeName(type)) == type);
  CHECK_FALSE(parseQuantType("statically"));
}
