// Every complaint of backend_config.md 5: its code, its pointer, its level.
#include "Catch.h"
#include "unit/backends/config/ConfigTestSupport.h"

#include <fstream>

using namespace qfx;
using namespace qfx::test;

namespace {
struct Case {
  const char *text;
  const char *code; ///< "CODE #POINTER"
  bool isWarning = false;
};
constexpr bool kWarning = true;

/// A file with one entry, given as its members.
#define ENTRY(members) "{\"name\": \"t\", \"configs\": [{" members "}]}"
#define DTYPES "\"dtype_configs\": [{\"input_dtype\": \"quint8\", \"output_dtype\": \"quint8\"}]"
/// An entry for relu with one dtype config, given as its members.
#define CONFIG(members) ENTRY("\"pattern\": \"torch.nn.ReLU\", \"dtype_configs\": [{" members "}]")
#define INPUT(members) CONFIG("\"input_dtype\": {" members "}, \"output_dtype\": \"quint8\"")
#define PAIR "\"pattern\": [\"torch.nn.Linear\", \"torch.nn.ReLU\"], " DTYPES
#define ADD_RELU "\"pattern_complex_format\": [\"torch.nn.ReLU\", [\"operator.add\", \"MatchAllNode\", \"torch.nn.Conv2d\"]], " DTYPES

const Case kDocument[] = {
    {"{\"name\": \"t\", \"configs\": [}", "json-syntax"},
    {"{\"name\": \"t\", \"configs\": []} x", "json-syntax"},
    {"{\"name\": \"\xff\", \"configs\": []}", "json-syntax"},
    {"", "json-syntax"},
    {"{\"name\": \"t\", \"name\": \"u\", \"configs\": []}", "json-duplicate-key #/name"},
    {"[]", "wrong-type #"},
    {"{\"name\": 3, \"configs\": []}", "wrong-type #/name"},
    {"{\"name\": \"\", \"configs\": []}", "wrong-type #/name"},
    {"{\"name\": \"t\", \"comment\": [1], \"configs\": []}", "wrong-type #/comment/0"},
    {"{\"configs\": []}", "missing-key #"},
    {"{\"name\": \"t\"}", "missing-key #"},
    {"{\"name\": \"t\", \"config\": []}", "unknown-key #/config"},
    {"{\"name\": \"t\", \"a/b~c\": 1, \"configs\": []}", "unknown-key #/a~1b~0c"},
    {ENTRY("\"pattern\": \"torch.cat\", \"input_output_observed\": false"), "legacy-key #/configs/0/input_output_observed"},
    {ENTRY("\"pattern\": \"torch.cat\", \"overwrite_output_observer\": 1"), "legacy-key #/configs/0/overwrite_output_observer"},
    {ENTRY("\"pattern\": \"torch.cat\", \"overwrite_output_fake_quantize\": 1"), "legacy-key #/configs/0/overwrite_output_fake_quantize"},
    {"{\"name\": \"t\", \"format_version\": 2, \"configs\": []}", "bad-version #/format_version"},
    {"{\"name\": \"x86\", \"configs\": []}", "name-reserved #/name", kWarning},
    {"{\"name\": \"t\", \"extends\": \"x86\", \"configs\": []}", "extends-and-configs #/configs"},
    {"{\"name\": \"t\", \"configs\": [], \"remove\": []}", "ops-without-extends #/remove"},
    {"{\"name\": \"t\", \"extends\": \"x87\"}", "extends-unknown #/extends"},
    {"{\"name\": \"t\", \"extends\": \"/etc/x.json\"}", "extends-unknown #/extends"},
    {"{\"name\": \"t\", \"extends\": \"a\\\\b.json\"}", "extends-unknown #/extends"},
    {"{\"name\": \"t\", \"extends\": \"no_such_file.json\"}", "extends-unknown #/extends"},
    {"{\"name\": \"t\", \"extends\": \"x86\", \"remove\": [\"torch.nn.LayerNorm\"]}", "remove-missing #/remove/0"},
    {"{\"name\": \"t\", \"extends\": \"x86\", \"remove\": [{\"glob\": \"nothing*\"}]}", "remove-missing #/remove/0"},
    {"{\"name\": \"t\", \"extends\": \"x86\", \"replace\": [{\"pattern\": \"torch.nn.LayerNorm\", " DTYPES "}]}", "replace-missing #/replace/0"},
    {"{\"name\": \"t\", \"extends\": \"x86\", \"add\": [{\"pattern\": \"torch.nn.ReLU\", " DTYPES "}]}", "add-exists #/add/0"},
    {"{\"name\": \"t\", \"configs\": [{\"pattern\": \"torch.cat\", " DTYPES "}, {\"pattern\": \"torch.cat\", " DTYPES "}]}", "duplicate-pattern #/configs/1"},
    {"{\"name\": \"t\", \"extends\": \"x86\", \"remove\": [\"torch.cat\", \"torch.cat\"]}", "duplicate-pattern #/remove/1"},
    {"{\"name\": \"t\", \"dtype_configs\": {\"8bit\": {}}, \"configs\": []}", "unknown-key #/dtype_configs/8bit"},
};

const Case kPatterns[] = {
    {ENTRY(DTYPES), "pattern-missing #/configs/0"},
    {ENTRY("\"pattern\": \"torch.cat\", \"pattern_complex_format\": \"torch.cat\", " DTYPES), "pattern-conflict #/configs/0/pattern_complex_format"},
    {ENTRY("\"pattern\": [\"torch.cat\"], " DTYPES), "pattern-arity #/configs/0/pattern"},
    {ENTRY("\"pattern\": [\"relu\", \"relu\", \"relu\", \"relu\"], " DTYPES), "pattern-arity #/configs/0/pattern"},
    {ENTRY("\"pattern_complex_format\": [\"relu\"], " DTYPES), "pattern-arity #/configs/0/pattern_complex_format"},
    {ENTRY("\"pattern\": [\"torch.nn.ReLU\", [\"torch.nn.BatchNorm2d\", \"torch.nn.Conv2d\"]], " DTYPES), "pattern-nested #/configs/0/pattern/1"},
    {ENTRY("\"pattern_complex_format\": [[\"relu\", \"relu\"], \"relu\"], " DTYPES), "pattern-head #/configs/0/pattern_complex_format/0"},
    {ENTRY("\"pattern_complex_format\": [3, \"relu\"], " DTYPES), "pattern-head #/configs/0/pattern_complex_format/0"},
    {ENTRY("\"pattern\": \"MatchAllNode\", " DTYPES), "pattern-wildcard #/configs/0/pattern"},
    {ENTRY("\"pattern_complex_format\": \"MatchAllNode\", " DTYPES), "pattern-wildcard #/configs/0/pattern_complex_format"},
    {ENTRY("\"pattern_complex_format\": [\"MatchAllNode\", \"relu\"], " DTYPES), "pattern-wildcard #/configs/0/pattern_complex_format/0"},
    {ENTRY("\"pattern_complex_format\": [\"relu\", null], " DTYPES), "wrong-type #/configs/0/pattern_complex_format/1"},
    {ENTRY("\"pattern\": \"builtins.getattr\", " DTYPES), "pattern-getattr #/configs/0/pattern"},
    {ENTRY("\"pattern\": \"torch..relu\", " DTYPES), "name-syntax #/configs/0/pattern"},
    {ENTRY("\"pattern\": \"Relu\", " DTYPES), "name-syntax #/configs/0/pattern"},
    {ENTRY("\"pattern\": \"torch.nn.Liner\", " DTYPES), "name-unknown #/configs/0/pattern"},
    {ENTRY("\"pattern\": \"operator.frob\", " DTYPES), "name-unknown #/configs/0/pattern"},
    {ENTRY("\"pattern\": \"frobnicate\", " DTYPES), "method-unknown #/configs/0/pattern", kWarning},
    {ENTRY("\"pattern\": \"torch.cat\", \"root_module\": \"torch.cat\", " DTYPES), "name-kind #/configs/0/root_module"},
    {ENTRY("\"pattern\": \"torch.cat\", \"root_module\": \"relu\", " DTYPES), "name-kind #/configs/0/root_module"},
    {ENTRY("\"pattern\": \"torch.nn.Linear\", \"root_module\": \"torch.nn.Linear\", \"reference_quantized_module\": \"my.Ref\", \"reference_quantized_module_for_root\": \"my.Ref\", " DTYPES),
     "key-conflict #/configs/0/reference_quantized_module_for_root"},
};

const Case kDTypes[] = {
    {CONFIG("\"input_dtype\": \"quint9\""), "dtype-unknown #/configs/0/dtype_configs/0/input_dtype"},
    {CONFIG("\"input_dtype\": \"int64\""), "dtype-unknown #/configs/0/dtype_configs/0/input_dtype"},
    {CONFIG("\"is_dynamic\": 1"), "wrong-type #/configs/0/dtype_configs/0/is_dynamic"},
    {CONFIG("\"bias_type\": \"float32\""), "unknown-key #/configs/0/dtype_configs/0/bias_type"},
    {ENTRY("\"pattern\": \"torch.cat\", \"dtype_configs\": [\"int_8\"]"), "dtype-ref-unknown #/configs/0/dtype_configs/0"},
    {ENTRY("\"pattern\": \"torch.cat\""), "dtype-configs-empty #/configs/0", kWarning},
    {CONFIG("\"input_dtype\": \"quint8\", \"output_dtype\": \"quint8\", \"is_dynamic\": true"), "dtype-dynamic-output #/configs/0/dtype_configs/0/output_dtype"},
    {CONFIG("\"input_dtype\": \"quint8\", \"output_dtype\": \"qint8\""), "dtype-static-mismatch #/configs/0/dtype_configs/0", kWarning},
    {CONFIG("\"bias_dtype\": \"qint32\""), "dtype-bias #/configs/0/dtype_configs/0/bias_dtype", kWarning},
    {INPUT("\"quant_min_lower_bound\": 0, \"quant_max_upper_bound\": 1"), "constraint-without-dtype #/configs/0/dtype_configs/0/input_dtype"},
    {CONFIG("\"weight_dtype\": {\"dtype\": \"qint8\", \"quant_min_lower_bound\": -129, \"quant_max_upper_bound\": 127}"),
     "constraint-range #/configs/0/dtype_configs/0/weight_dtype/quant_min_lower_bound"},
    {INPUT("\"dtype\": \"quint8\", \"quant_min_lower_bound\": 9, \"quant_max_upper_bound\": 3"), "constraint-range #/configs/0/dtype_configs/0/input_dtype"},
    {INPUT("\"dtype\": \"quint8\", \"scale_min_lower_bound\": 0"), "constraint-range #/configs/0/dtype_configs/0/input_dtype/scale_min_lower_bound"},
    {INPUT("\"dtype\": \"quint8\", \"scale_min_lower_bound\": 2, \"scale_max_upper_bound\": 1"), "constraint-range #/configs/0/dtype_configs/0/input_dtype"},
    {INPUT("\"dtype\": \"quint8\", \"scale_exact_match\": 1, \"zero_point_exact_match\": 256"), "constraint-range #/configs/0/dtype_configs/0/input_dtype/zero_point_exact_match"},
    {INPUT("\"dtype\": \"quint8\", \"scale_exact_match\": 1, \"zero_point_exact_match\": 0, \"scale_min_lower_bound\": 1"), "constraint-conflict #/configs/0/dtype_configs/0/input_dtype"},
    {INPUT("\"dtype\": \"quint8\", \"quant_min_lower_bound\": 0"), "constraint-half #/configs/0/dtype_configs/0/input_dtype", kWarning},
    {INPUT("\"dtype\": \"quint8\", \"scale_exact_match\": 1"), "constraint-half #/configs/0/dtype_configs/0/input_dtype", kWarning},
    {INPUT("\"dtype\": \"quint8\", \"scale_max_upper_bound\": 1"), "constraint-unused #/configs/0/dtype_configs/0/input_dtype/scale_max_upper_bound", kWarning},
    {CONFIG("\"weight_dtype\": {\"dtype\": \"float32\", \"scale_min_lower_bound\": 1}"), "constraint-on-float #/configs/0/dtype_configs/0/weight_dtype", kWarning},
};

const Case kEntries[] = {
    {ENTRY("\"pattern\": \"torch.cat\", \"observation_type\": \"OUTPUT_SHARE\", " DTYPES), "observation-type #/configs/0/observation_type"},
    {ENTRY("\"pattern\": \"torch.cat\", \"num_tensor_args_to_observation_type\": {\"1\": \"X\", \"2\": \"INPUT_OUTPUT_NOT_OBSERVED\"}, " DTYPES),
     "observation-type #/configs/0/num_tensor_args_to_observation_type/1"},
    {ENTRY("\"pattern\": \"torch.cat\", \"num_tensor_args_to_observation_type\": {\"01\": \"INPUT_OUTPUT_NOT_OBSERVED\"}, " DTYPES),
     "num-args-key #/configs/0/num_tensor_args_to_observation_type/01"},
    {ENTRY("\"pattern\": \"torch.cat\", \"num_tensor_args_to_observation_type\": {\"1\": \"INPUT_OUTPUT_NOT_OBSERVED\"}, " DTYPES),
     "num-args-gap #/configs/0/num_tensor_args_to_observation_type", kWarning},
    {ENTRY("\"pattern\": \"torch.addmm\", \"input_type_to_index\": {\"weight\": -1}, " DTYPES), "input-index #/configs/0/input_type_to_index"},
    {ENTRY("\"pattern\": \"torch.addmm\", \"input_type_to_index\": {\"weight\": 1, \"bias\": 1}, " DTYPES), "input-index #/configs/0/input_type_to_index"},
    {ENTRY("\"pattern\": \"torch.nn.Linear\", \"input_type_to_index\": {\"weight\": 1}, " DTYPES), "input-index-unused #/configs/0/input_type_to_index", kWarning},
    {ENTRY("\"pattern\": \"torch.nn.Linear\", \"reference_quantized_module\": \"my.Ref\", " DTYPES), "reference-without-root #/configs/0/reference_quantized_module"},
    {"{\"name\": \"t\", \"configs\": [{\"pattern\": \"torch.nn.Linear\", \"root_module\": \"torch.nn.Linear\", \"reference_quantized_module\": \"my.A\", " DTYPES
     "}, {\"pattern\": \"my.Linear\", \"root_module\": \"torch.nn.Linear\", \"reference_quantized_module\": \"my.B\", " DTYPES "}]}",
     "root-reference-conflict #/configs/1/reference_quantized_module", kWarning},
    {ENTRY(PAIR ", \"qat_module\": \"my.Qat\""), "qat-pattern #/configs/0/qat_module"},
    {ENTRY("\"pattern\": \"torch.nn.Linear\", \"qat_module\": \"my.Qat\", " DTYPES), "qat-module-unconfigured #/configs/0/qat_module", kWarning},
    {ENTRY(PAIR ", \"fused_module\": \"my.Fused\", \"fuser_method\": \"sequential_wrapper\""), "fuser-unknown #/configs/0/fuser_method"},
    {ENTRY("\"pattern\": \"torch.nn.Linear\", \"fused_module\": \"my.Fused\", \"fuser_method\": \"sequential_wrapper2\", " DTYPES), "fuser-pattern #/configs/0/fuser_method"},
    {ENTRY(PAIR ", \"fused_module\": \"my.Fused\", \"fuser_method\": \"fuse_conv_bn_relu\""), "fuser-arity #/configs/0/fuser_method"},
    {ENTRY("\"pattern\": [\"torch.cat\", \"torch.nn.ReLU\"], \"fused_module\": \"my.Fused\", \"fuser_method\": \"sequential_wrapper2\", " DTYPES), "fuser-root #/configs/0/fuser_method"},
    {ENTRY(PAIR ", \"fuser_method\": \"sequential_wrapper2\""), "fuser-needs-fused-module #/configs/0"},
    {ENTRY(PAIR ", \"fuser_method\": {\"children\": [[1], [0]]}"), "fuser-needs-fused-module #/configs/0"},
    {ENTRY(PAIR ", \"fused_module\": \"my.Fused\", \"fuser_method\": {}"), "missing-key #/configs/0/fuser_method"},
    {ENTRY(PAIR ", \"fused_module\": \"my.Fused\""), "fused-module-unused #/configs/0/fused_module", kWarning},
    {ENTRY(PAIR ", \"fused_module\": \"my.Fused\", \"fuser_method\": \"sequential_wrapper2\""), "fused-module-unconfigured #/configs/0/fused_module", kWarning},
    {ENTRY(ADD_RELU ", \"root_node_getter\": \"conv_add_root\""), "getter-unknown #/configs/0/root_node_getter"},
    {ENTRY(ADD_RELU ", \"root_node_getter\": [1, 1]"), "getter-path #/configs/0/root_node_getter"},
    {ENTRY(ADD_RELU ", \"root_node_getter\": [7]"), "getter-path #/configs/0/root_node_getter"},
    {ENTRY(ADD_RELU ", \"root_node_getter\": [-1]"), "getter-path #/configs/0/root_node_getter"},
    {ENTRY(ADD_RELU ", \"root_node_getter\": \"conv_add_root_node_getter_left\""), "getter-path #/configs/0/root_node_getter"},
    {ENTRY(ADD_RELU ", \"fused_module\": \"my.Fused\", \"fuser_method\": \"fuse_conv_add_relu_right\", \"extra_inputs_getter\": [[1, 2]]"),
     "getter-path #/configs/0/extra_inputs_getter/0"},
    {ENTRY(PAIR ", \"fused_module\": \"my.Fused\", \"fuser_method\": {\"children\": [[0], [3]]}"), "getter-path #/configs/0/fuser_method/children/1"},
    {ENTRY(PAIR ", \"fused_module\": \"my.Fused\", \"fuser_method\": {\"children\": [[0], [1]]}"), "getter-path #/configs/0/fuser_method/children"},
    {ENTRY("\"pattern_complex_format\": [\"torch.nn.ReLU\", [\"operator.add\", \"torch.nn.Conv2d\", \"MatchAllNode\"]], " DTYPES), "root-getter-missing #/configs/0"},
    {ENTRY(ADD_RELU ", \"extra_inputs_getter\": [[1, 1]]"), "extra-inputs-unused #/configs/0/extra_inputs_getter", kWarning},
};

void checkCases(llvm::ArrayRef<Case> cases) {
  for (const Case &one : cases) {
    INFO(one.text);
    auto result = readBackend(one.text);
    std::string all;
    for (const std::string &line : result.lines)
      all += line + "\n";
    INFO(all);
    REQUIRE(result.has(one.code));
    for (const Diagnostic &diagnostic : result.diagnostics)
      if (diagnostic.code == one.code)
        CHECK((diagnostic.severity == Severity::Warning) == one.isWarning);
    CHECK(result.value.has_value() == one.isWarning); // warnings alone do not make loading fail
  }
}
} // namespace

TEST_CASE("complaints about documents", "[backend-config]") { checkCases(kDocument); }
TEST_CASE("complaints about patterns and names", "[backend-config]") { checkCases(kPatterns); }
TEST_CASE("complaints about dtypes", "[backend-config]") { checkCases(kDTypes); }
TEST_CASE("complaints about entries", "[backend-config]") { checkCases(kEntries); }

TEST_CASE("the texts of backend_config.md 5.5", "[backend-config]") {
  auto first = [](const char *text) { return readBackend(text).lines.at(0); };
  CHECK(first(ENTRY("\"pattern\": \"torch.nn.Liner\", " DTYPES)) ==
        "name-unknown #/configs/0/pattern: error: unknown name 'torch.nn.Liner'; did you mean 'torch.nn.Linear'?");
  CHECK(first("{\"name\": \"t\", \"dtype_configs\": {\"int8\": {}}, \"configs\": [{\"pattern\": \"torch.cat\", \"dtype_configs\": [\"int_8\"]}]}") ==
        "dtype-ref-unknown #/configs/0/dtype_configs/0: error: no dtype config is named 'int_8'; did you mean 'int8'?");
  CHECK(first(ENTRY("\"pattern\": [\"torch.nn.ReLU\", [\"torch.nn.BatchNorm2d\", \"torch.nn.Conv2d\"]], " DTYPES)) ==
        "pattern-nested #/configs/0/pattern/1: error: nested pattern: use pattern_complex_format");
  CHECK(first(CONFIG("\"weight_dtype\": {\"dtype\": \"qint8\", \"quant_min_lower_bound\": -129, \"quant_max_upper_bound\": 127}")) ==
        "constraint-range #/configs/0/dtype_configs/0/weight_dtype/quant_min_lower_bound: error: -129 is outside the range of qint8, -128..127");
  CHECK(first(ENTRY("\"pattern_complex_format\": [\"torch.nn.ReLU\", [\"operator.add\", \"torch.nn.Conv2d\", \"MatchAllNode\"]], " DTYPES)) ==
        "root-getter-missing #/configs/0: error: the default root is not an operator; give root_node_getter");
  CHECK(first("{\"name\": \"t\", \"configs\": [{\"pattern\": [\"torch.nn.Linear\", \"torch.nn.ReLU\"], " DTYPES
              "}, {\"pattern_complex_format\": [\"torch.nn.ReLU\", \"torch.nn.Linear\"], " DTYPES "}]}") ==
        "duplicate-pattern #/configs/1: error: same pattern as /configs/0");
  CHECK(first("{\"name\": \"t\", \"extends\": \"x86\", \"remove\": [\"torch.nn.LayerNorm\"]}") ==
        "remove-missing #/remove/0: error: the base has no such pattern");
}

TEST_CASE("all problems come together, in document order, with their places", "[backend-config]") {
  auto result = readBackend("{\n  \"name\": \"t\",\n  \"nmae\": 1,\n  \"configs\": [\n"
                            "    {\"pattern\": \"torch.nn.Liner\", \"x\\\"y\": 1.5},\n"
                            "    {\"pattern\": [\"torch.cat\"], \"dtype_configs\": -3}\n  ]\n}\n");
  REQUIRE(result.diagnostics.size() == 6);
  auto place = [&](size_t i) { return std::make_pair(result.diagnostics[i].loc.line, result.diagnostics[i].loc.column); };
  CHECK(result.diagnostics[0].code == "unknown-key #/nmae");
  CHECK(place(0) == std::make_pair(3u, 3u));
  CHECK(result.diagnostics[1].code == "name-unknown #/configs/0/pattern");
  CHECK(place(1) == std::make_pair(5u, 17u));
  CHECK(result.diagnostics[2].code == "unknown-key #/configs/0/x\"y");
  CHECK(place(2) == std::make_pair(5u, 35u));
  CHECK(result.diagnostics[3].code == "pattern-arity #/configs/1/pattern");
  CHECK(place(3) == std::make_pair(6u, 17u));
  CHECK(result.diagnostics[4].code == "wrong-type #/configs/1/dtype_configs");
  CHECK(place(4) == std::make_pair(6u, 49u));
  CHECK(result.lines[5] == "dtype-configs-empty #/configs/0: warning: no dtype_configs and no fuser_method: nothing can match this entry");
}

TEST_CASE("cycles, long chains and broken bases", "[backend-config]") {
  std::string folder = std::string(QFX_GOLDEN_DIR) + "/backend_configs/";
  auto load = [&](const char *name) {
    std::ifstream file(folder + name);
    return readBackend(std::string(std::istreambuf_iterator<char>(file), {}), folder + name);
  };
  auto cycle = load("cycle_a.json");
  CHECK(cycle.has("extends-cycle #/extends"));
  CHECK(cycle.has("extends-invalid #/extends"));
  auto broken = load("broken_base.json");
  CHECK(broken.has("extends-invalid #/extends"));
  REQUIRE(broken.has("name-unknown #/configs/0/pattern"));
  CHECK(broken.diagnostics[0].loc.file->name == folder + "broken.json");
  auto chain = load("sub/relative.json");
  REQUIRE(chain.value);
  CHECK(chain.value->getConfigs().size() == 191);
}

TEST_CASE("nesting is limited", "[backend-config]") {
  std::string deep(100000, '[');
  CHECK(readBackend(deep).diagnostics.front().code == "json-syntax");
  CHECK(readBackend("{\"name\": \"t\", \"configs\": " + std::string(150, '[') + std::string(150, ']') + "}").has("wrong-type #/configs/0"));
}
