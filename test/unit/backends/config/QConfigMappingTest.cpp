// QConfigMapping files: forms, places of complaints, round trips; regexes over paths.
#include "Catch.h"
#include "unit/backends/config/ConfigTestSupport.h"

using namespace qfx;
using namespace qfx::test;

TEST_CASE("a mapping file with every key", "[qconfig]") {
  auto result = readMapping(R"({
    "format_version": 1, "comment": ["why", "so"],
    "global": "default_qconfig",
    "object_type": { "torch.nn.Linear": null, "torch.conv2d": "default_per_channel_qconfig", "my.Block": null, "relu": null },
    "module_name_regex": [["layer[0-9]+\\..*", null]],
    "module_name": { "fc": { "activation": { "class": "HistogramObserver", "bins": 512, "dtype": "qint8", "comment": "few bins" },
                             "weight": "default_weight_observer" } },
    "module_name_object_type_order": [["", "torch.add", 1, null]] })");
  REQUIRE(result.value);
  const QConfigMapping &mapping = *result.value;
  CHECK(mapping.getGlobal()->getAliasName() == "default_qconfig");
  REQUIRE(mapping.getObjectTypes().size() == 4);
  CHECK(mapping.getObjectTypes()[1].first.text == "torch.nn.functional.conv2d");
  CHECK_FALSE(mapping.getObjectTypes()[0].second);
  CHECK(mapping.findObjectType(OperatorName::resolve("torch.nn.Linear")) != nullptr);
  CHECK(mapping.findObjectType(OperatorName::resolve("torch.nn.ReLU")) == nullptr);
  CHECK(mapping.getModuleNames()[0].second->activation->getDType() == DType::QInt8);
  CHECK(mapping.getModuleNameObjectTypeOrders()[0].first.index == 1);
  auto again = readMapping(writeQConfigMapping(mapping));
  REQUIRE(again.value);
  CHECK(again.value->toString() == mapping.toString());
}

TEST_CASE("a mapping file names observers of the affine family", "[qconfig]") {
  auto result = readMapping(R"json({ "global": {
    "activation": { "class": "AffineQuantizedMinMaxObserver", "mapping_type": "ASYMMETRIC", "target_dtype": "uint8", "granularity": "PerTensor()" },
    "weight": { "class": "AffineQuantizedMinMaxObserver", "mapping_type": "SYMMETRIC", "target_dtype": "int4", "granularity": "PerGroup(group_size=32)",
                "scale_dtype": "bfloat16", "zero_point_domain": "NONE" } } })json");
  REQUIRE(result.value);
  const QConfig &qconfig = *result.value->getGlobal();
  CHECK(qconfig.activation->getDType() == DType::UInt8);
  CHECK(qconfig.activation->getQuantMax() == 255);
  CHECK(qconfig.weight->getDType() == DType::Int8); // what 4-bit codes are stored as
  CHECK(qconfig.weight->getQuantMin() == -8);
  CHECK(qconfig.weight->getQuantMax() == 7);
  auto again = readMapping(writeQConfigMapping(*result.value));
  REQUIRE(again.value);
  CHECK(again.value->toString() == result.value->toString());
}

TEST_CASE("a mapping file may start from a default mapping", "[qconfig]") {
  auto result = readMapping(R"({ "extends": "x86", "object_type": [["torch.nn.PReLU", null], ["torch.nn.GELU", null]] })");
  REQUIRE(result.value);
  QConfigMapping x86 = llvm::cantFail(getDefaultQConfigMapping("x86"));
  REQUIRE(result.value->getObjectTypes().size() == x86.getObjectTypes().size() + 1);
  CHECK(result.value->getGlobal()->toString() == x86.getGlobal()->toString());
  for (size_t i = 0; i < x86.getObjectTypes().size(); ++i)
    CHECK(result.value->getObjectTypes()[i].first == x86.getObjectTypes()[i].first); // re-set keys keep their position
  CHECK_FALSE(*result.value->findObjectType(OperatorName::resolve("torch.nn.PReLU")));
  for (const char *name : {"fbgemm", "qnnpack_qat", "symmetric_qnnpack"}) {
    auto base = readMapping(std::string("{\"extends\": \"") + name + "\"}");
    REQUIRE(base.value);
    auto again = readMapping(writeQConfigMapping(*base.value));
    REQUIRE(again.value);
    CHECK(again.value->toString() == base.value->toString());
  }
}

namespace {
struct Case {
  const char *text, *code;
};
} // namespace

TEST_CASE("complaints about mapping files", "[qconfig]") {
  const Case cases[] = {
      {"{", "json-syntax"},
      {"[]", "wrong-type #"},
      {"{\"globl\": null}", "unknown-key #/globl"},
      {"{\"format_version\": 3}", "bad-version #/format_version"},
      {"{\"extends\": \"x68\"}", "extends-unknown #/extends"},
      {"{\"global\": null, \"\": null}", "key-conflict #/"},
      {"{\"global\": \"default_qconfg\"}", "qconfig-unknown #/global"},
      {"{\"global\": 3}", "wrong-type #/global"},
      {"{\"global\": {\"activation\": null}}", "missing-key #/global"},
      {"{\"global\": {\"activation\": null, \"weight\": null, \"wieght\": null}}", "unknown-key #/global/wieght"},
      {"{\"global\": {\"activation\": \"MinMaxObsrver\", \"weight\": null}}", "observer-unknown #/global/activation"},
      {"{\"global\": {\"activation\": {}, \"weight\": null}}", "missing-key #/global/activation"},
      {"{\"global\": {\"activation\": {\"class\": \"X\"}, \"weight\": null}}", "observer-unknown #/global/activation/class"},
      {"{\"global\": {\"activation\": {\"class\": \"MinMaxObserver\", \"bins\": 3}, \"weight\": null}}", "observer-argument #/global/activation/bins"},
      {"{\"global\": {\"activation\": {\"class\": \"MinMaxObserver\", \"dtype\": \"quint9\"}, \"weight\": null}}", "observer-argument #/global/activation/dtype"},
      {"{\"global\": {\"activation\": {\"class\": \"MinMaxObserver\", \"dtype\": 8}, \"weight\": null}}", "observer-argument #/global/activation/dtype"},
      {"{\"global\": {\"activation\": {\"class\": \"MinMaxObserver\", \"eps\": []}, \"weight\": null}}", "wrong-type #/global/activation/eps"},
      {"{\"global\": {\"activation\": {\"class\": \"MinMaxObserver\", \"observer\": \"MinMaxObserver\"}, \"weight\": null}}", "observer-argument #/global/activation/observer"},
      {"{\"global\": {\"activation\": {\"class\": \"MinMaxObserver\", \"quant_min\": 1, \"quant_max\": 5}, \"weight\": null}}", "observer-argument #/global/activation"},
      {"{\"global\": {\"activation\": null, \"weight\": {\"class\": \"FakeQuantize\", \"quant_min\": 0, \"quant_max\": 256}}}", "observer-argument #/global/weight"},
      {"{\"global\": {\"activation\": null, \"weight\": \"FixedQParamsObserver\"}}", "observer-argument #/global/weight"},
      {"{\"object_type\": {\"torch.nn.Liner\": null}}", "name-unknown #/object_type/torch.nn.Liner"},
      {"{\"object_type\": [[\"torch.nn.Liner\", null]]}", "name-unknown #/object_type/0/0"},
      {"{\"object_type\": [[\"torch.nn.Linear\"]]}", "entry-size #/object_type/0"},
      {"{\"object_type\": 5}", "wrong-type #/object_type"},
      {"{\"module_name_regex\": {\"a(\": null}}", "regex-invalid #/module_name_regex/a("},
      {"{\"module_name\": [[3, null]]}", "wrong-type #/module_name/0/0"},
      {"{\"module_name_object_type_order\": [[\"a\", \"torch.add\", -1, null]]}", "order-index #/module_name_object_type_order/0/2"},
      {"{\"module_name_object_type_order\": [[\"a\", \"torch.ad\", 0, null]]}", "name-unknown #/module_name_object_type_order/0/1"},
      {"{\"module_name\": {\"a\": null, \"a\": null}}", "json-duplicate-key #/module_name/a"}};
  for (const Case &one : cases) {
    INFO(one.text);
    auto result = readMapping(one.text);
    for (const std::string &line : result.lines)
      UNSCOPED_INFO(line);
    CHECK(result.has(one.code));
    CHECK_FALSE(result.value);
  }
  auto several = readMapping("{\"global\": \"x\", \"object_type\": {\n \"torch.nn.Liner\": null}, \"module_name_regex\": {\"[\": null}}");
  REQUIRE(several.lines.size() == 3);
  CHECK(several.lines[1] == "name-unknown #/object_type/torch.nn.Liner: error: unknown name 'torch.nn.Liner'; did you mean 'torch.nn.Linear'?");
  CHECK(several.diagnostics[1].loc.line == 2);
  CHECK(several.diagnostics[1].loc.column == 2);
}

TEST_CASE("regexes match from the start of the path only", "[qconfig]") {
  CHECK(matchesModuleNameRegex("sub.*", "sub2"));
  CHECK(matchesModuleNameRegex("sub", "sub.fc")); // re.match needs no match to the end
  CHECK_FALSE(matchesModuleNameRegex("fc", "sub.fc"));
  CHECK(matchesModuleNameRegex("(layer|block)\\d+\\.conv[12]$", "layer3.conv2"));
  CHECK_FALSE(matchesModuleNameRegex("(layer|block)\\d+\\.conv[12]$", "layer3.conv3"));
  CHECK(matchesModuleNameRegex("", "anything"));
  CHECK(findRegexError("a.*").empty());
  CHECK_FALSE(findRegexError("(").empty());
  CHECK_FALSE(findRegexError(std::string(2000, 'a')).empty());
}

TEST_CASE("qconfigs in Argument form", "[qconfig]") {
  auto isRefused = [](Argument argument) {
    auto qconfig = QConfig::fromArgument(argument);
    return qconfig ? false : (llvm::consumeError(qconfig.takeError()), true);
  };
  CHECK(isRefused("no_such_qconfig"));
  CHECK(isRefused(3));
  CHECK(isRefused(Argument::dict({{"activation", "MinMaxObserver"}})));
  CHECK(isRefused(Argument::dict({{"activation", Argument::dict({})}, {"weight", Argument::none()}})));
  CHECK(isRefused(Argument::dict({{"activation", Argument::dict({{"class", "MinMaxObserver"}, {"bins", 3}})}, {"weight", Argument::none()}})));
  for (const std::string &name : getQConfigAliasNames()) {
    QConfig qconfig = *findQConfigAlias(name);
    CHECK(llvm::cantFail(QConfig::fromArgument(qconfig.toArgument())).toString() == qconfig.toString());
  }
}

TEST_CASE("regexes cost neither stack nor time without end", "[qconfig]") {
  CHECK_FALSE(matchesModuleNameRegex(".*x", std::string(300000, 'a')));
  CHECK(matchesModuleNameRegex(".*x", std::string(300000, 'a') + "x"));
  CHECK_FALSE(matchesModuleNameRegex("(a+)+$", std::string(60, 'a') + "b"));
  CHECK_FALSE(matchesModuleNameRegex("(a|a)*b$", std::string(60, 'a') + "c"));
  CHECK(matchesModuleNameRegex("layer[0-9]+\\.(conv|bn)\\d?", "layer12.conv3.x"));
  CHECK_FALSE(matchesModuleNameRegex("conv", "layer1.conv"));
  CHECK(matchesModuleNameRegex("(?:a|b){2,3}\\b", "ab.c"));
}
