// backend_config.utils over the built-in configurations gives what torch 2.13 gives (test/golden/backend_configs/make.py).
#include "Catch.h"
#include "backends/config/BackendConfigUtils.h"
#include "unit/backends/config/ConfigTestSupport.h"

#include "llvm/ADT/StringExtras.h"
#include "nlohmann/json.hpp"

using namespace qfx;
using namespace qfx::test;
using json = nlohmann::ordered_json;

static const json &getGolden() { return readGoldenJson("backend_configs/utils.json"); }

/// FNV-1a, as the script hashes texts.
static std::string hashText(const std::string &text) {
  uint64_t value = 0xCBF29CE484222325;
  for (unsigned char byte : text)
    value = (value ^ byte) * 0x100000001B3;
  std::string digits = llvm::utohexstr(value, /*LowerCase=*/true);
  return std::string(16 - digits.size(), '0') + digits;
}

static std::vector<std::string> getTexts(const std::vector<OperatorName> &names) {
  std::vector<std::string> texts;
  for (const OperatorName &name : names)
    texts.push_back(name.text);
  return texts;
}

/// The built-in ones, and the one for PyTorch's tests.
static std::vector<std::pair<std::string, BackendConfig>> getAllConfigs() {
  std::vector<std::pair<std::string, BackendConfig>> all;
  for (const std::string &name : getBuiltinBackendNames())
    all.emplace_back(name, *getBuiltinBackendConfig(name));
  all.emplace_back("_native_and_fp16", getTestOnlyLegacyNativeBackendConfig());
  return all;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;
static Pairs readPairs(const json &object) {
  Pairs pairs;
  for (const auto &[key, value] : object.items())
    pairs.emplace_back(key, value.get<std::string>());
  return pairs;
}

TEST_CASE("built-in entries print as PyTorch's", "[backend-config]") {
  for (const auto &[name, config] : getAllConfigs()) {
    const json &golden = getGolden()["backends"][name];
    INFO(name);
    CHECK(config.getName() == golden["name"].get<std::string>());
    REQUIRE(config.getConfigs().size() == golden["entries"].size());
    auto dtypes = getPatternToDTypeConfigs(config);
    for (size_t i = 0; i < config.getConfigs().size(); ++i) {
      const BackendPatternConfig &entry = config.getConfigs()[i];
      const json &row = golden["entries"][i];
      std::string pattern = entry.pattern.toString(), pretty = entryToPrettyStr(entry);
      REQUIRE(pattern == row[0].get<std::string>());
      INFO(pretty);
      if (golden["pretty"].contains(pattern))
        CHECK(pretty == golden["pretty"][pattern].get<std::string>());
      CHECK(hashText(pretty) == row[1].get<std::string>());
      CHECK(dtypes[i].first == &entry.pattern);
      CHECK(dtypes[i].second.size() == row[2].get<size_t>());
    }
  }
}

TEST_CASE("views of the built-in configurations are PyTorch's", "[backend-config]") {
  for (const auto &[name, config] : getAllConfigs()) {
    const json &golden = getGolden()["backends"][name];
    INFO(name);
    CHECK(getTexts(config.getQatModuleClasses()) == golden["qat_module_classes"].get<std::vector<std::string>>());
    CHECK(getTexts(config.getFusedModuleClasses()) == golden["fused_module_classes"].get<std::vector<std::string>>());
    auto toPairs = [](const std::vector<std::pair<OperatorName, OperatorName>> &modules) {
      Pairs pairs;
      for (const auto &[key, value] : modules)
        pairs.emplace_back(key.text, value.text);
      return pairs;
    };
    CHECK(toPairs(config.getRootModuleToQuantizedReferenceModule()) == readPairs(golden["root_to_reference"]));
    CHECK(toPairs(config.getModuleToQatModule()) == readPairs(golden["module_to_qat_module"]));

    Pairs fusers;
    for (const auto &[pattern, fuser] : llvm::cantFail(getFuserMethodMapping(config)))
      fusers.emplace_back(pattern->toString(), getFuserMethodName(fuser->kind).str());
    CHECK(fusers == readPairs(golden["fusers"]));

    auto indices = getPatternToInputTypeToIndex(config);
    REQUIRE(indices.size() == config.getConfigs().size());
    json found = json::object();
    for (const auto &[pattern, map] : indices)
      for (const auto &[input, index] : *map)
        found[pattern->toString()][input] = index;
    CHECK(nlohmann::json(found) == nlohmann::json(golden["input_type_to_index"])); // keys of a map in any order
  }
}

TEST_CASE("getters of the built-in configurations are PyTorch's", "[backend-config]") {
  for (const auto &[name, config] : getAllConfigs()) {
    const json &golden = getGolden()["backends"][name];
    INFO(name);
    // A named getter stands for a path: both sides name the same ones.
    auto roots = getFusionPatternToRootNodePath(config);
    auto extras = getFusionPatternToExtraInputPaths(config);
    REQUIRE(roots.size() == golden["root_getters"].size());
    REQUIRE(extras.size() == golden["extra_inputs_getters"].size());
    for (const auto &[pattern, path] : roots) {
      REQUIRE(golden["root_getters"].contains(pattern->toString()));
      CHECK(pattern->at(path)->getHead().text == "torch.nn.Conv2d");
      std::string pretty = entryToPrettyStr(*config.find(*pattern));
      CHECK(pretty.find("'root_node_getter': " + golden["root_getters"][pattern->toString()].get<std::string>() + ",") != std::string::npos);
    }
    for (const auto &[pattern, paths] : extras) {
      REQUIRE(paths.size() == 1);
      CHECK(pattern->at(paths.front())->getKind() == Pattern::Kind::MatchAll);
      std::string pretty = entryToPrettyStr(*config.find(*pattern));
      CHECK(pretty.find("'extra_inputs_getter': " + golden["extra_inputs_getters"][pattern->toString()].get<std::string>() + ",") != std::string::npos);
    }
  }
}

TEST_CASE("functions made by boolean_dispatch have their full names", "[backend-config]") {
  for (const char *name : {"fractional_max_pool2d", "fractional_max_pool3d", "max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool1d",
                           "adaptive_max_pool2d", "adaptive_max_pool3d"}) {
    std::string full = std::string("torch.nn.functional.") + name;
    CHECK(removeBooleanDispatchFromName(OperatorName::resolve(full)) == full);
  }
  auto entry = BackendPatternConfig().setPattern({"torch.nn.functional.max_pool2d", "relu"});
  CHECK(patternToHumanReadable(entry) == "(torch.nn.functional.max_pool2d, 'relu')");
  CHECK(patternToHumanReadable(BackendPatternConfig().setPattern({"relu"})) == "relu");
}

TEST_CASE("a fuser on a single operator is an error of the view too", "[backend-config]") {
  BackendConfig config("t");
  config.setBackendPatternConfig(BackendPatternConfig().setPattern({"torch.nn.Linear"}).setFuserMethod(FuserMethod::Kind::ConvBn));
  auto view = getFuserMethodMapping(config);
  REQUIRE_FALSE(static_cast<bool>(view));
  CHECK(takeDiagnostics(view.takeError()).front().code == "fuser-pattern");
}
