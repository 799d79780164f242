// The mapping that a backend file alone leads to: expectations follow from the bounds written in each file.
#include "Catch.h"
#include "backends/config/DerivedMapping.h"
#include "unit/backends/config/ConfigTestSupport.h"

using namespace qfx;
using namespace qfx::test;

static QConfigMapping derive(const std::string &text, bool isQat = false) {
  auto backend = readBackend(text);
  for (const std::string &line : backend.lines)
    UNSCOPED_INFO(line);
  REQUIRE(backend.value);
  return llvm::cantFail(deriveQConfigMapping(*backend.value, isQat));
}

static std::string printObserver(const std::optional<ObserverSpec> &spec) {
  std::string text = QConfig{spec, std::nullopt}.toString();
  const std::string prefix = "QConfig(activation=", suffix = ", weight=None)";
  text = text.substr(prefix.size(), text.size() - prefix.size() - suffix.size());
  for (const char *noise : {"<class 'torch.ao.quantization.observer.", "<class 'torch.ao.quantization.fake_quantize.", "functools.partial(", "'>", "{}", "torch."})
    for (size_t at; (at = text.find(noise)) != std::string::npos;)
      text.erase(at, strlen(noise));
  return text;
}

static std::string printActivation(const QConfigMapping &mapping, const char *type = nullptr) {
  const OptionalQConfig *entry = type ? mapping.findObjectType(OperatorName::resolve(type)) : &mapping.getGlobal();
  REQUIRE(entry);
  return printObserver((*entry)->activation);
}
static std::string printWeight(const QConfigMapping &mapping, const char *type = nullptr) {
  const OptionalQConfig *entry = type ? mapping.findObjectType(OperatorName::resolve(type)) : &mapping.getGlobal();
  REQUIRE(entry);
  return printObserver((*entry)->weight);
}

TEST_CASE("dtype, range, symmetric weights and smallest scale of one config", "[qconfig][derived]") {
  const char *text = R"({ "name": "npu", "configs": [{ "pattern": "torch.nn.Conv2d", "dtype_configs": [{
    "input_dtype": { "dtype": "qint8", "scale_min_lower_bound": 0.000244140625 }, "output_dtype": "qint8",
    "weight_dtype": { "dtype": "qint8", "quant_min_lower_bound": -127, "quant_max_upper_bound": 127 } }] }] })";
  QConfigMapping mapping = derive(text);
  CHECK(printActivation(mapping) == "HistogramObserver, dtype=qint8, eps=0.000244140625)");
  CHECK(printWeight(mapping) == "PerChannelMinMaxObserver, dtype=qint8, qscheme=per_channel_symmetric, quant_min=-127, quant_max=127)");
  CHECK(mapping.getObjectTypes().empty());
  QConfigMapping qat = derive(text, /*isQat=*/true);
  CHECK(printActivation(qat) == "FusedMovingAvgObsFakeQuantize, observer=MovingAverageMinMaxObserver, dtype=qint8, quant_min=-128, quant_max=127, eps=0.000244140625)");
  CHECK(printWeight(qat) ==
        "FusedMovingAvgObsFakeQuantize, observer=MovingAveragePerChannelMinMaxObserver, dtype=qint8, qscheme=per_channel_symmetric, quant_min=-127, quant_max=127)");
}

TEST_CASE("bounds of several entries are intersected", "[qconfig][derived]") {
  QConfigMapping mapping = derive(R"({ "name": "npu", "dtype_configs": {
      "a": { "input_dtype": { "dtype": "quint8", "quant_min_lower_bound": 0, "quant_max_upper_bound": 127 }, "output_dtype": "quint8", "weight_dtype": "qint8" },
      "b": { "input_dtype": "quint8", "output_dtype": { "dtype": "quint8", "quant_min_lower_bound": 0, "quant_max_upper_bound": 200, "scale_min_lower_bound": 0.001 } } },
    "configs": [{ "pattern": "torch.nn.Conv2d", "dtype_configs": ["a"] }, { "pattern": "torch.nn.ReLU", "dtype_configs": ["b"] }] })");
  CHECK(printActivation(mapping) == "HistogramObserver, dtype=quint8, quant_min=0, quant_max=127, eps=0.001)");
  CHECK(printWeight(mapping) == "PerChannelMinMaxObserver, dtype=qint8, qscheme=per_channel_symmetric)");
}

TEST_CASE("fixed parameters get entries of their own", "[qconfig][derived]") {
  const char *text = R"({ "name": "npu", "dtype_configs": { "q": { "input_dtype": "quint8", "output_dtype": "quint8" },
      "fixed": { "input_dtype": { "dtype": "quint8", "scale_exact_match": 0.00390625, "zero_point_exact_match": 0 },
                 "output_dtype": { "dtype": "quint8", "scale_exact_match": 0.00390625, "zero_point_exact_match": 0 } } },
    "configs": [{ "pattern": "torch.nn.Sigmoid", "dtype_configs": ["fixed"] }, { "pattern": "sigmoid", "dtype_configs": ["fixed"] }, { "pattern": "torch.cat", "dtype_configs": ["q"] }] })";
  QConfigMapping mapping = derive(text);
  CHECK(printActivation(mapping) == "HistogramObserver, dtype=quint8)");
  REQUIRE(mapping.getObjectTypes().size() == 2);
  for (const char *type : {"torch.nn.Sigmoid", "sigmoid"})
    CHECK(printActivation(mapping, type) == "FixedQParamsObserver, scale=0.00390625, zero_point=0, dtype=quint8, quant_min=0, quant_max=255)");
  CHECK(printActivation(derive(text, true), "sigmoid") ==
        "FixedQParamsFakeQuantize, observer=FixedQParamsObserver, scale=0.00390625, zero_point=0, dtype=quint8, quant_min=0, quant_max=255))");
}

TEST_CASE("an alternative that fits the majority is taken before an entry of its own", "[qconfig][derived]") {
  QConfigMapping mapping = derive(R"({ "name": "npu", "dtype_configs": { "q": { "input_dtype": "quint8", "output_dtype": "quint8" }, "s": { "input_dtype": "qint8", "output_dtype": "qint8" } },
    "configs": [{ "pattern": "torch.cat", "dtype_configs": ["s", "q"] }, { "pattern": "torch.nn.ReLU", "dtype_configs": ["q"] }, { "pattern": "torch.add", "dtype_configs": ["q"] },
                { "pattern": "torch.nn.GELU", "dtype_configs": ["s"] }] })");
  CHECK(printActivation(mapping) == "HistogramObserver, dtype=quint8)");
  REQUIRE(mapping.getObjectTypes().size() == 1);
  CHECK(printActivation(mapping, "torch.nn.GELU") == "HistogramObserver, dtype=qint8)");
}

TEST_CASE("dynamic, weight-only and half configs", "[qconfig][derived]") {
  QConfigMapping mapping = derive(R"({ "name": "npu", "dtype_configs": {
      "dyn": { "input_dtype": "quint8", "output_dtype": "float32", "weight_dtype": "qint8", "is_dynamic": true },
      "rows": { "input_dtype": "float32", "output_dtype": "float32", "weight_dtype": "quint4x2" },
      "half": { "input_dtype": "float16", "output_dtype": "float32", "weight_dtype": "float16", "is_dynamic": true } },
    "configs": [{ "pattern": "torch.nn.Linear", "dtype_configs": ["dyn", "half"] }, { "pattern": "torch.nn.Embedding", "dtype_configs": ["rows"] },
                { "pattern": "torch.nn.GRUCell", "dtype_configs": ["dyn"] }, { "pattern": "torch.nn.RNNCell", "dtype_configs": ["dyn"] },
                { "pattern": "torch.nn.LSTM", "dtype_configs": ["half"] }] })");
  CHECK(printActivation(mapping) == "PlaceholderObserver, dtype=quint8, quant_min=0, quant_max=255, is_dynamic=True)");
  CHECK(printWeight(mapping) == "PerChannelMinMaxObserver, dtype=qint8, qscheme=per_channel_symmetric)");
  REQUIRE(mapping.getObjectTypes().size() == 2);
  CHECK(qconfigEquals(*mapping.findObjectType(OperatorName::resolve("torch.nn.Embedding")), findQConfigAlias("float_qparams_weight_only_qconfig_4bit")));
  CHECK(qconfigEquals(*mapping.findObjectType(OperatorName::resolve("torch.nn.LSTM")), findQConfigAlias("float16_dynamic_qconfig")));
}

TEST_CASE("operators of a tuple that no entry speaks for alone get its qconfig", "[qconfig][derived]") {
  QConfigMapping mapping = derive(R"({ "name": "npu", "dtype_configs": { "q": { "input_dtype": "quint8", "output_dtype": "quint8", "weight_dtype": "qint8" },
      "dyn": { "input_dtype": "quint8", "output_dtype": "float32", "weight_dtype": "qint8", "is_dynamic": true } },
    "configs": [{ "pattern": "torch.nn.Conv2d", "dtype_configs": ["q"] }, { "pattern": "torch.nn.ReLU", "dtype_configs": ["q"] }, { "pattern": "torch.cat", "dtype_configs": ["q"] },
                { "pattern": ["torch.nn.Linear", "torch.nn.ReLU"], "dtype_configs": ["dyn"], "fused_module": "torch.ao.nn.intrinsic.LinearReLU", "fuser_method": "sequential_wrapper2" },
                { "pattern": "torch.ao.nn.intrinsic.LinearReLU", "dtype_configs": ["dyn"], "root_module": "torch.nn.Linear" }] })");
  REQUIRE(mapping.getObjectTypes().size() == 2); // not the relu, which has an entry of its own
  CHECK(mapping.findObjectType(OperatorName::resolve("torch.nn.Linear")));
  CHECK(mapping.findObjectType(OperatorName::resolve("torch.ao.nn.intrinsic.LinearReLU")));
}

TEST_CASE("a backend without usable configs is an error", "[qconfig][derived]") {
  for (const char *config : {"{\"input_dtype\": \"int8\", \"output_dtype\": \"int8\"}", "{\"input_dtype\": \"quint8\", \"output_dtype\": \"float32\"}",
                             "{\"input_dtype\": \"float32\", \"output_dtype\": \"float32\"}",
                             "{\"input_dtype\": {\"dtype\": \"quint8\", \"quant_min_lower_bound\": 3, \"quant_max_upper_bound\": 9}, \"output_dtype\": \"quint8\"}"}) {
    auto backend = readBackend(std::string("{\"name\": \"npu\", \"configs\": [{\"pattern\": \"torch.cat\", \"dtype_configs\": [") + config + "]}]}");
    REQUIRE(backend.value);
    auto mapping = deriveQConfigMapping(*backend.value, false);
    REQUIRE_FALSE(static_cast<bool>(mapping));
    CHECK(takeDiagnostics(mapping.takeError()).front().code == "qconfig_needed");
  }
}

TEST_CASE("every derived qconfig builds, and files that extend a built-in remember it", "[qconfig][derived]") {
  for (const std::string &name : getBuiltinBackendNames()) {
    INFO(name);
    CHECK(getBuiltinBackendConfig(name)->getDefaultMappingName() == name);
    for (bool isQat : {false, true}) {
      QConfigMapping mapping = llvm::cantFail(deriveQConfigMapping(*getBuiltinBackendConfig(name), isQat));
      auto builds = [](const OptionalQConfig &qconfig) {
        for (const auto *side : {&qconfig->activation, &qconfig->weight})
          if (auto module = (*side)->build(); !module)
            return llvm::consumeError(module.takeError()), false;
        return true;
      };
      CHECK(builds(mapping.getGlobal()));
      for (const auto &entry : mapping.getObjectTypes()) {
        INFO(entry.first.text);
        CHECK(builds(entry.second));
      }
    }
    auto derived = readBackend("{\"name\": \"mine\", \"extends\": \"" + name + "\"}");
    REQUIRE(derived.value);
    CHECK(derived.value->getDefaultMappingName() == name);
  }
  CHECK(readBackend("{\"name\": \"mine\", \"configs\": []}").value->getDefaultMappingName().empty());
}
