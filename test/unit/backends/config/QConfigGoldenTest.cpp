// Observer aliases, qconfigs and default mappings against PyTorch's text of them.
#include "Catch.h"
#include "backends/config/QConfigMapping.h"
#include "ir/Module.h"
#include "unit/backends/observe/GoldenFamilies.h"

using namespace qfx;
using namespace qfx::test;
using nlohmann::json;

static std::string printActivation(const ObserverSpec &spec) {
  std::string text = QConfig{spec, std::nullopt}.toString();
  return text.substr(strlen("QConfig(activation="), text.size() - strlen("QConfig(activation=, weight=None)"));
}

TEST_CASE("observer aliases are PyTorch's constructors", "[qconfig]") {
  const json &golden = getGolden("qconfigs")["observers"];
  std::vector<std::string> names = getObserverAliasNames();
  CHECK(names.size() == golden.size());
  for (const auto &[name, expected] : golden.items()) {
    INFO(name);
    std::optional<ObserverSpec> spec = findObserverAlias(name);
    REQUIRE(spec);
    CHECK(printActivation(*spec) == expected["text"].get<std::string>());
    CHECK(getDTypeInfo(spec->getDType()).torchName == expected["dtype"].get<std::string>());
    CHECK(spec->isDynamic() == expected["is_dynamic"].get<bool>());
    auto checkOptional = [&](const auto &found, const json &value) {
      REQUIRE(found.has_value() == !value.is_null());
      if (found)
        CHECK(static_cast<double>(*found) == value.get<double>());
    };
    checkOptional(spec->getQuantMin(), expected["quant_min"]);
    checkOptional(spec->getQuantMax(), expected["quant_max"]);
    checkOptional(spec->getEps(), expected["eps"]);
    auto module = spec->build();
    REQUIRE(static_cast<bool>(module));
    CHECK(getObserverDType(**module) == spec->getDType());
    CHECK(isObserverDynamic(**module) == spec->isDynamic());
  }
}

TEST_CASE("qconfig aliases are PyTorch's", "[qconfig]") {
  const json &golden = getGolden("qconfigs");
  CHECK(getQConfigAliasNames().size() == golden["qconfigs"].size());
  for (const auto &[name, text] : golden["qconfigs"].items()) {
    std::optional<QConfig> qconfig = findQConfigAlias(name);
    INFO(name);
    REQUIRE(qconfig);
    CHECK(qconfig->toString() == text.get<std::string>());
  }
}

TEST_CASE("qconfig_equals gives PyTorch's answers for all pairs of aliases", "[qconfig]") {
  std::vector<std::string> names = getQConfigAliasNames();
  const json &equal = getGolden("qconfigs")["equal"];
  for (size_t i = 0; i < names.size(); ++i)
    for (size_t j = i + 1; j < names.size(); ++j) {
      bool expected = std::any_of(equal.begin(), equal.end(), [&](const json &pair) {
        return (pair[0] == names[i] && pair[1] == names[j]) || (pair[0] == names[j] && pair[1] == names[i]);
      });
      INFO(names[i] << " " << names[j]);
      CHECK(qconfigEquals(findQConfigAlias(names[i]), findQConfigAlias(names[j])) == expected);
    }
}

TEST_CASE("qconfig_equals looks at stored keywords only", "[qconfig]") {
  auto wrap = [](Argument dict) { return llvm::cantFail(ObserverSpec::fromArgument(dict)); };
  ObserverSpec bare = wrap("MinMaxObserver"), empty = wrap(Argument::dict({{"class", "MinMaxObserver"}}));
  ObserverSpec given = wrap(Argument::dict({{"class", "MinMaxObserver"}, {"reduce_range", false}}));
  CHECK(observerSpecEquals(bare, bare));
  CHECK_FALSE(observerSpecEquals(bare, empty)); // class against with_args()
  CHECK_FALSE(observerSpecEquals(empty, given));
  CHECK(observerSpecEquals(std::nullopt, std::nullopt));
  CHECK_FALSE(observerSpecEquals(bare, std::nullopt));
  ObserverSpec one = wrap(Argument::dict({{"class", "MovingAverageMinMaxObserver"}, {"averaging_constant", 1}}));
  ObserverSpec oneFloat = wrap(Argument::dict({{"class", "MovingAverageMinMaxObserver"}, {"averaging_constant", 1.0}}));
  CHECK(observerSpecEquals(one, oneFloat)); // Python: 1 == 1.0
}

TEST_CASE("default qconfigs are PyTorch's", "[qconfig]") {
  for (const auto &[backend, texts] : getGolden("qconfigs")["defaults"].items()) {
    INFO(backend);
    CHECK(llvm::cantFail(getDefaultQConfig(backend)).toString() == texts[0].get<std::string>());
    CHECK(llvm::cantFail(getDefaultQatQConfig(backend, 0)).toString() == texts[1].get<std::string>());
    CHECK(llvm::cantFail(getDefaultQatQConfig(backend, 1)).toString() == texts[2].get<std::string>());
  }
  auto isRefused = [](auto result) { return result ? false : (llvm::consumeError(result.takeError()), true); };
  CHECK(isRefused(getDefaultQConfig("executorch")));
  CHECK(isRefused(getDefaultQConfig("x86", 1)));
  CHECK(isRefused(getDefaultQatQConfig("x86", 2)));
  CHECK(isRefused(getDefaultQatQConfigMapping("native")));
}

static QConfigMapping makeMapping(const std::string &name) {
  if (name == "symmetric_qnnpack")
    return getSymmetricQnnpackQConfigMapping();
  if (name == "symmetric_qnnpack_qat")
    return getSymmetricQnnpackQatQConfigMapping();
  llvm::StringRef backend = name;
  return llvm::cantFail(backend.consume_back("_qat") ? getDefaultQatQConfigMapping(backend) : getDefaultQConfigMapping(backend));
}

TEST_CASE("default mappings are PyTorch's", "[qconfig]") {
  for (const auto &[name, expected] : getGolden("qconfigs")["mappings"].items()) {
    INFO(name);
    QConfigMapping mapping = makeMapping(name);
    CHECK(mapping.getGlobal()->toString() == expected["global"].get<std::string>());
    REQUIRE(mapping.getObjectTypes().size() == expected["object_type"].size());
    for (size_t i = 0; i < mapping.getObjectTypes().size(); ++i) {
      const auto &[type, qconfig] = mapping.getObjectTypes()[i];
      CHECK(type.text == expected["object_type"][i][0].get<std::string>());
      CHECK(type.row != nullptr);
      CHECK(qconfig->toString() == expected["object_type"][i][1].get<std::string>());
    }
    CHECK(llvm::cantFail(QConfigMapping::fromArgument(mapping.toArgument())).toString() == mapping.toString());
  }
}

TEST_CASE("a mapping prints as PyTorch's", "[qconfig]") {
  QConfigMapping mapping;
  mapping.setGlobal(std::nullopt).setModuleName("a.b", findQConfigAlias("default_qconfig")).setModuleNameRegex("a.*", std::nullopt);
  mapping.setModuleNameObjectTypeOrder({"a", OperatorName::resolve("relu"), 2}, findQConfigAlias("default_reuse_input_qconfig"));
  CHECK(mapping.toString() == getGolden("qconfigs")["print"].get<std::string>());
  CHECK(llvm::cantFail(QConfigMapping::fromArgument(mapping.toArgument())).toString() == mapping.toString());
}
