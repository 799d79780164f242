// QConfigMapping in PyTorch's to_dict form: torch 2.13's dicts (test/golden/qconfigs/make.py), and files written that way.
#include "Catch.h"
#include "unit/backends/config/ConfigTestSupport.h"

using namespace qfx;
using namespace qfx::test;

using json = nlohmann::ordered_json;

static QConfigMapping makeCustom() {
  auto alias = [](const char *name) { return OptionalQConfig(findQConfigAlias(name)); };
  auto type = [](const char *name) { return OperatorName::resolve(name); };
  QConfigMapping mapping;
  mapping.setGlobal(alias("float16_static_qconfig")).setObjectType(type("reshape"), std::nullopt).setObjectType(type("torch.nn.Linear"), alias("default_qconfig"));
  mapping.setModuleNameRegex("a.*[0-9]", alias("default_debug_qconfig")).setModuleName("sub.fc", std::nullopt).setModuleName("sub", alias("default_qat_qconfig"));
  mapping.setObjectType(type("reshape"), alias("default_reuse_input_qconfig"));
  mapping.setModuleNameObjectTypeOrder({"sub", type("torch.nn.Linear"), 3}, alias("default_weight_only_qconfig"));
  return mapping;
}

static QConfigMapping makeMapping(llvm::StringRef name) {
  if (name == "custom")
    return makeCustom();
  if (name == "symmetric_qnnpack")
    return getSymmetricQnnpackQConfigMapping();
  if (name == "symmetric_qnnpack_qat")
    return getSymmetricQnnpackQatQConfigMapping();
  for (int version : {0, 1})
    if (llvm::StringRef backend = name; backend.consume_back("_qat_" + std::to_string(version)))
      return llvm::cantFail(getDefaultQatQConfigMapping(backend, version));
  return llvm::cantFail(getDefaultQConfigMapping(name));
}

static std::string printQConfig(const Argument &argument) {
  return argument.isNone() ? "None" : llvm::cantFail(QConfig::fromArgument(argument)).toString();
}

TEST_CASE("to_dict is PyTorch's", "[qconfig]") {
  const json &golden = readGoldenJson("qconfigs/to_dict.json");
  CHECK(golden["mappings"].size() == 15);
  for (const auto &[name, expected] : golden["mappings"].items()) {
    INFO(name);
    Argument dict = makeMapping(name).toArgument();
    REQUIRE(dict.getEntries().size() == expected.size());
    size_t position = 0;
    for (const auto &[key, rows] : expected.items()) {
      const auto &[foundKey, value] = dict.getEntries()[position++];
      CHECK(foundKey == key);
      if (key.empty()) {
        CHECK(printQConfig(value) == golden["qconfigs"][rows.template get<size_t>()].template get<std::string>());
        continue;
      }
      REQUIRE(value.getElements().size() == rows.size());
      for (size_t i = 0; i < rows.size(); ++i) {
        llvm::ArrayRef<Argument> tuple = value.getElements()[i].getElements();
        const json &row = rows[i];
        REQUIRE(tuple.size() == row.size());
        for (size_t j = 0; j + 1 < row.size(); ++j)
          CHECK((row[j].is_string() ? tuple[j] == Argument(row[j].template get<std::string>()) : tuple[j] == Argument(row[j].template get<int64_t>())));
        CHECK(printQConfig(tuple.back()) == golden["qconfigs"][row.back().template get<size_t>()].template get<std::string>());
      }
    }
    QConfigMapping again = llvm::cantFail(QConfigMapping::fromArgument(dict));
    CHECK(again.toString() == makeMapping(name).toString());
  }
}

TEST_CASE("every default mapping survives its file", "[qconfig]") {
  for (const auto &[name, rows] : readGoldenJson("qconfigs/to_dict.json")["mappings"].items()) {
    INFO(name);
    QConfigMapping mapping = makeMapping(name);
    auto again = readMapping(writeQConfigMapping(mapping));
    REQUIRE(again.value);
    CHECK(again.lines.empty());
    CHECK(again.value->toString() == mapping.toString());
  }
}

TEST_CASE("a file may be written as to_dict", "[qconfig]") {
  auto read = readMapping(R"({ "": "float16_static_qconfig",
    "object_type": [["reshape", "default_reuse_input_qconfig"], ["torch.nn.Linear", "default_qconfig"]],
    "module_name_regex": [["a.*[0-9]", "default_debug_qconfig"]], "module_name": [["sub.fc", null], ["sub", "default_qat_qconfig"]],
    "module_name_object_type_order": [["sub", "torch.nn.Linear", 3, "default_weight_only_qconfig"]] })");
  REQUIRE(read.value);
  CHECK(read.value->toString() == makeCustom().toString());
}

TEST_CASE("unknown keys of a dict are errors with the nearest one", "[qconfig]") {
  auto mapping = QConfigMapping::fromArgument(Argument::dict({{"object_types", Argument::list({})}}));
  REQUIRE_FALSE(static_cast<bool>(mapping));
  Diagnostic diagnostic = takeDiagnostics(mapping.takeError()).front();
  CHECK(diagnostic.code == "qconfig_mapping");
  CHECK(diagnostic.message.find("did you mean 'object_type'?") != std::string::npos);
}
