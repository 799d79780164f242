// The built-in configurations, the examples, round trips and the views of a BackendConfig.
#include "Catch.h"
#include "unit/backends/config/ConfigTestSupport.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace qfx;
using namespace qfx::test;

namespace {
/// backend_config.md 15: entries, kinds (single, pair, triple, complex), observation (D, S, N), fusers, fused classes, QAT classes, roots,
/// index maps, count maps.
using Counts = std::vector<size_t>;
const std::map<std::string, Counts> kCounts = {
    {"native", {194, 149, 39, 6, 0, 132, 60, 2, 25, 13, 17, 14, 10, 16}},
    {"fbgemm", {192, 147, 39, 6, 0, 130, 60, 2, 25, 13, 17, 14, 9, 16}},
    {"x86", {192, 147, 39, 6, 0, 130, 60, 2, 25, 13, 17, 14, 9, 16}},
    {"qnnpack", {190, 145, 39, 6, 0, 130, 60, 0, 25, 13, 17, 14, 9, 16}},
    {"onednn", {221, 151, 47, 7, 16, 161, 60, 0, 46, 17, 17, 14, 10, 16}},
    {"executorch", {84, 59, 23, 2, 0, 49, 35, 0, 5, 3, 7, 4, 3, 24}},
    {"tensorrt", {149, 108, 35, 6, 0, 87, 60, 2, 21, 11, 15, 7, 8, 16}}};
} // namespace

static Counts countEntries(const BackendConfig &config) {
  Counts counts(14, 0);
  counts[0] = config.getConfigs().size();
  for (const BackendPatternConfig &entry : config.getConfigs()) {
    ++counts[entry.isComplexFormat ? 4 : entry.pattern.getLeafCount()];
    ++counts[5 + static_cast<size_t>(entry.observationType)];
    counts[8] += entry.fuserMethod.has_value();
    counts[12] += !entry.inputTypeToIndex.empty();
    counts[13] += !entry.numTensorArgsToObservationType.empty();
  }
  counts[9] = config.getFusedModuleClasses().size();
  counts[10] = config.getQatModuleClasses().size();
  counts[11] = config.getRootModuleToQuantizedReferenceModule().size();
  return counts;
}

TEST_CASE("built-in configurations load without complaint and have the counts of the specification", "[backend-config]") {
  REQUIRE(getBuiltinBackendNames().size() == 7);
  for (const std::string &name : getBuiltinBackendNames()) {
    INFO(name);
    std::vector<Diagnostic> warnings;
    auto config = loadBackendConfig(name, warnings);
    REQUIRE(static_cast<bool>(config));
    CHECK(warnings.empty());
    CHECK(config->getName() == name);
    CHECK(countEntries(*config) == kCounts.at(name));
    CHECK(*config == *getBuiltinBackendConfig(name));
  }
  CHECK_FALSE(getBuiltinBackendConfig("x87"));
}

TEST_CASE("what is written reads back equal", "[backend-config]") {
  for (const std::string &name : getBuiltinBackendNames()) {
    INFO(name);
    BackendConfig config = getBuiltinBackendConfig(name)->setName("copy_of_" + name);
    std::string text = writeBackendConfig(config);
    auto again = readBackend(text);
    REQUIRE(again.value);
    CHECK(again.lines.empty());
    CHECK(*again.value == config);
    CHECK(writeBackendConfig(*again.value) == text);
    for (size_t i = 0; i < config.getConfigs().size(); ++i)
      CHECK(again.value->getConfigs()[i].isComplexFormat == config.getConfigs()[i].isComplexFormat);
  }
}

static BackendConfig loadExample(const std::string &name) {
  std::vector<Diagnostic> warnings;
  auto config = loadBackendConfig(std::string(QFX_SOURCE_DIR) + "/docs/backend_configs/" + name, warnings);
  if (!config)
    FAIL(llvm::toString(config.takeError()));
  CHECK(warnings.empty());
  return std::move(*config);
}

TEST_CASE("example configurations", "[backend-config]") {
  BackendConfig addRelu = loadExample("x86_add_relu_only.json");
  REQUIRE(addRelu.getConfigs().size() == 188);
  for (size_t i = 184; i < 188; ++i)
    CHECK(addRelu.getConfigs()[i].pattern.getLeafCount() == 4);
  BackendConfig npu = loadExample("npu8_conv_relu_linear.json");
  CHECK(npu.getConfigs().size() == 6);
  auto roots = npu.getRootModuleToQuantizedReferenceModule();
  REQUIRE(roots.size() == 2);
  CHECK(roots[0].first.text == "torch.nn.Conv2d");
  CHECK(roots[1].first.text == "torch.nn.Linear");
  CHECK(loadExample("dynamic_linear_fp16.json").getConfigs().size() == 4);
}

TEST_CASE("a derived file redefines names, removes, replaces and adds", "[backend-config]") {
  auto derived = readBackend(R"({ "name": "x86_weight127", "extends": "x86",
    "dtype_configs": { "weighted_int8": { "input_dtype": "quint8", "output_dtype": "quint8", "bias_dtype": "float32",
      "weight_dtype": { "dtype": "qint8", "quant_min_lower_bound": -127, "quant_max_upper_bound": 127 } } },
    "remove": [ { "glob": "*3d" }, "torch.nn.GRU", ["torch.nn.Linear", "torch.nn.BatchNorm1d"] ] })");
  REQUIRE(derived.value);
  CHECK(derived.lines.empty());
  CHECK(derived.value->getConfigs().size() == 160);
  const BackendPatternConfig *conv = derived.value->findSingle(OperatorName::resolve("torch.nn.Conv2d"));
  REQUIRE(conv);
  CHECK(conv->dtypeConfigs[0].weight.quantMinLowerBound == -127);
  CHECK_FALSE(derived.value->findSingle(OperatorName::resolve("torch.nn.Conv3d")));

  auto moved = readBackend(R"({ "name": "moved", "extends": "x86", "remove": ["torch.cat"],
    "replace": [{ "pattern": "torch.nn.ReLU", "dtype_configs": [{ "input_dtype": "qint8", "output_dtype": "qint8" }] }],
    "add": [{ "pattern": "torch.cat", "dtype_configs": ["default_quint8"] }] })");
  REQUIRE(moved.value);
  CHECK(moved.value->getConfigs().size() == 192);
  CHECK(moved.value->getConfigs().back().pattern.getHead().text == "torch.cat");
  const BackendConfig x86 = *getBuiltinBackendConfig("x86");
  for (size_t i = 0; i < 192; ++i)
    if (x86.getConfigs()[i].pattern.toString() == "torch.nn.ReLU")
      CHECK(moved.value->find(x86.getConfigs()[i].pattern)->dtypeConfigs[0].input.dtype == DType::QInt8);
}

TEST_CASE("setting an existing pattern keeps its position", "[backend-config]") {
  BackendConfig config("c");
  auto entry = [](llvm::StringRef name, ObservationType type) {
    BackendPatternConfig result;
    result.pattern = Pattern::op(OperatorName::resolve(name));
    result.observationType = type;
    return result;
  };
  config.setBackendPatternConfig(entry("torch.nn.ReLU", ObservationType::OutputShareObserverWithInput));
  config.setBackendPatternConfig(entry("torch.nn.Linear", ObservationType::OutputUseDifferentObserverAsInput));
  config.setBackendPatternConfig(entry("torch.nn.ReLU", ObservationType::InputOutputNotObserved));
  REQUIRE(config.getConfigs().size() == 2);
  CHECK(config.getConfigs()[0].observationType == ObservationType::InputOutputNotObserved);
}

TEST_CASE("matching order: more leaves first, then map order", "[backend-config]") {
  const BackendConfig onednn = *getBuiltinBackendConfig("onednn");
  auto sorted = onednn.getSortedConfigs();
  CHECK(sorted.front()->pattern.getLeafCount() == 5);
  for (size_t i = 1; i < sorted.size(); ++i) {
    unsigned before = sorted[i - 1]->pattern.getLeafCount(), now = sorted[i]->pattern.getLeafCount();
    CHECK(before >= now);
    if (before == now)
      CHECK(sorted[i - 1] < sorted[i]); // both point into the map
  }
}

TEST_CASE("patterns: forms, paths, roots, text", "[backend-config]") {
  auto op = [](llvm::StringRef name) { return OperatorName::resolve(name); };
  Pattern chain = Pattern::fromSimple({op("torch.nn.Conv2d"), op("torch.nn.BatchNorm2d"), op("torch.nn.ReLU")});
  CHECK(chain.toString() == "(torch.nn.ReLU, (torch.nn.BatchNorm2d, torch.nn.Conv2d))");
  CHECK(chain.getLeafCount() == 3);
  CHECK(chain.getDefaultRootPath() == PatternPath{1, 1});
  CHECK(chain.at({1, 1})->getHead().text == "torch.nn.Conv2d");
  CHECK(chain.at({1, 0})->isSingle());
  CHECK(chain.at({0})->getHead().text == "torch.nn.ReLU");
  CHECK(chain.at({}) == &chain);
  CHECK(chain.at({2}) == nullptr);
  CHECK(chain.at({0, 0}) == nullptr);
  Pattern any = Pattern::op(op("relu"), {Pattern::op(op("operator.add"), {Pattern::matchAll(), Pattern::literal(Argument(2))})});
  CHECK(any.toString() == "('relu', (operator.add, MatchAllNode, 2))");
  CHECK(Pattern::op(op("relu")).toString() == "relu");
  // Aliases of one function are one name; different functions of one effect are not (2.1).
  CHECK(op("torch.conv2d") == op("torch.nn.functional.conv2d"));
  CHECK(op("torch.nn.intrinsic.ConvReLU2d") == op("torch.ao.nn.intrinsic.ConvReLU2d"));
  CHECK(op("operator.__add__") == op("operator.add"));
  CHECK(op("torch.relu") != op("torch.nn.functional.relu"));
  CHECK(op("operator.add") != op("torch.add"));
  CHECK(op("my.Layer").isModuleClass());
  CHECK(op("my.layer").isFunction());
  CHECK(op("frobnicate").isMethod());
}

TEST_CASE("unknown backends get a suggestion", "[backend-config]") {
  std::vector<Diagnostic> warnings;
  auto config = loadBackendConfig("x68", warnings);
  REQUIRE_FALSE(static_cast<bool>(config));
  CHECK(llvm::toString(config.takeError()).find("did you mean 'x86'?") != std::string::npos);
  auto missing = loadBackendConfig("no_such_file.json", warnings);
  REQUIRE_FALSE(static_cast<bool>(missing));
  llvm::consumeError(missing.takeError());
}
