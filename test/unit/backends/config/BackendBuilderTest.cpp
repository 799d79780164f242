// Configurations built in code equal those read from files.
#include "Catch.h"
#include "unit/backends/config/ConfigTestSupport.h"

using namespace qfx;
using namespace qfx::test;

static DTypeConfig makeInt8() {
  DTypeConfig config;
  config.input = config.output = DType::QUInt8;
  config.weight = DType::QInt8;
  config.weight.quantMinLowerBound = -127;
  config.weight.quantMaxUpperBound = 127;
  config.bias = DType::Float32;
  return config;
}

static BackendConfig makeNpu() {
  using Kind = FuserMethod::Kind;
  BackendConfig npu("npu8");
  npu.setBackendPatternConfigs(
      {BackendPatternConfig()
           .setPattern({"torch.nn.Conv2d", "torch.nn.ReLU"})
           .addDTypeConfig(makeInt8(), "int8")
           .setFusedModule("torch.ao.nn.intrinsic.ConvReLU2d")
           .setFuserMethod(Kind::SequentialWrapper2),
       BackendPatternConfig()
           .setPattern({"torch.nn.intrinsic.ConvReLU2d"}) // an alias of the canonical name
           .addDTypeConfig(makeInt8(), "int8")
           .setRootModule("torch.nn.Conv2d")
           .setQatModule("torch.ao.nn.intrinsic.qat.ConvReLU2d")
           .setReferenceQuantizedModule("torch.ao.nn.quantized.reference.Conv2d"),
       BackendPatternConfig()
           .setPattern({"torch.ao.nn.intrinsic.qat.ConvReLU2d"})
           .setDTypeConfigs({makeInt8()})
           .setRootModule("torch.nn.Conv2d"),
       BackendPatternConfig()
           .setPattern({"torch.add"})
           .addDTypeConfig(makeInt8(), "int8")
           .setObservationType(ObservationType::OutputShareObserverWithInput)
           .setNumTensorArgsToObservationType({{1, ObservationType::OutputShareObserverWithInput}, {2, ObservationType::OutputUseDifferentObserverAsInput}}),
       BackendPatternConfig().setPattern({"torch.nn.functional.linear"}).addDTypeConfig(makeInt8(), "int8").setInputTypeToIndex({{"weight", 1}, {"bias", 2}}),
       BackendPatternConfig()
           .setPatternComplexFormat(Pattern::op(OperatorName::resolve("torch.add"), {Pattern::matchAll(), Pattern::op(OperatorName::resolve("torch.nn.Conv2d"))}))
           .addDTypeConfig(makeInt8(), "int8")
           .setRootNodePath({2})
           .setExtraInputPaths({{1}})
           .setFusedModule("torch.ao.nn.intrinsic.ConvAdd2d")
           .setFuserMethod({{2}, {0}})});
  return npu;
}

TEST_CASE("a configuration built in code is that of its file", "[backend-config]") {
  auto file = readBackend(R"({ "name": "npu8",
    "dtype_configs": { "int8": { "input_dtype": "quint8", "output_dtype": "quint8", "bias_dtype": "float32",
                                 "weight_dtype": { "dtype": "qint8", "quant_min_lower_bound": -127, "quant_max_upper_bound": 127 } } },
    "configs": [
      { "pattern": ["torch.nn.Conv2d", "torch.nn.ReLU"], "dtype_configs": ["int8"], "fused_module": "torch.ao.nn.intrinsic.ConvReLU2d", "fuser_method": "sequential_wrapper2" },
      { "pattern": "torch.ao.nn.intrinsic.ConvReLU2d", "dtype_configs": ["int8"], "root_module": "torch.nn.Conv2d",
        "qat_module": "torch.ao.nn.intrinsic.qat.ConvReLU2d", "reference_quantized_module": "torch.ao.nn.quantized.reference.Conv2d" },
      { "pattern": "torch.ao.nn.intrinsic.qat.ConvReLU2d", "dtype_configs": ["int8"], "root_module": "torch.nn.Conv2d" },
      { "pattern": "torch.add", "dtype_configs": ["int8"], "observation_type": "OUTPUT_SHARE_OBSERVER_WITH_INPUT",
        "num_tensor_args_to_observation_type": { "1": "OUTPUT_SHARE_OBSERVER_WITH_INPUT", "2": "OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT" } },
      { "pattern": "torch.nn.functional.linear", "dtype_configs": ["int8"], "input_type_to_index": { "weight": 1, "bias": 2 } },
      { "pattern_complex_format": ["torch.add", "MatchAllNode", "torch.nn.Conv2d"], "dtype_configs": ["int8"], "root_node_getter": [2],
        "extra_inputs_getter": [[1]], "fused_module": "torch.ao.nn.intrinsic.ConvAdd2d", "fuser_method": { "children": [[2], [0]] } } ] })");
  REQUIRE(file.value);
  BackendConfig built = makeNpu();
  CHECK(built == *file.value);
  auto saved = readBackend(writeBackendConfig(built));
  REQUIRE(saved.value);
  CHECK(*saved.value == built);
  std::vector<Diagnostic> warnings;
  CHECK_FALSE(static_cast<bool>(checkBackendConfig(built, warnings)));
  REQUIRE(warnings.size() == 1); // nothing observes the fused conv + add
  CHECK(warnings.front().code == "fused-module-unconfigured #/configs/5/fused_module");
}

TEST_CASE("what is wrong with a configuration built in code is said as of a file", "[backend-config]") {
  BackendConfig config("t");
  config.setBackendPatternConfig(BackendPatternConfig().setPattern({"torch.nn.Liner"}).addDTypeConfig(makeInt8()));
  std::vector<Diagnostic> warnings;
  std::vector<Diagnostic> errors = takeDiagnostics(checkBackendConfig(config, warnings));
  REQUIRE(errors.size() == 1);
  CHECK(errors.front().code == "name-unknown #/configs/0/pattern");
  CHECK(errors.front().message == "unknown name 'torch.nn.Liner'; did you mean 'torch.nn.Linear'?");
}

TEST_CASE("setters replace, adders append, a known pattern keeps its place", "[backend-config]") {
  BackendPatternConfig entry;
  entry.setPattern({"torch.nn.ReLU"}).setPattern({"torch.nn.GELU"}).addDTypeConfig(makeInt8(), "a").addDTypeConfig(makeInt8());
  CHECK(entry.pattern.toString() == "torch.nn.GELU");
  CHECK(entry.dtypeConfigs.size() == 2);
  CHECK(entry.dtypeConfigNames == std::vector<std::string>{"a", ""});
  CHECK(entry.setDTypeConfigs({}).dtypeConfigs.empty());
  BackendConfig config("t");
  config.setBackendPatternConfig(BackendPatternConfig().setPattern({"torch.cat"})).setBackendPatternConfig(BackendPatternConfig().setPattern({"torch.add"}));
  config.setBackendPatternConfig(BackendPatternConfig().setPattern({"torch.cat"}).addDTypeConfig(makeInt8()));
  REQUIRE(config.getConfigs().size() == 2);
  CHECK(config.getConfigs()[0].dtypeConfigs.size() == 1);
}
