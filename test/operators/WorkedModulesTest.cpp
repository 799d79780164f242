// The worked cases of the operator specification, section 26, whose results are floats, and the calls that engines refuse.
#include "QuantizedCases.h"

#include "Catch.h"
#include "ir/text/QfxText.h"

#include <cmath>

using namespace qfx;
using namespace qfx::test;

/// Runs a text without inputs; the elements of its outputs, one list each.  Empty if it is refused, which fails unless `refusal` is in the message.
static std::vector<std::vector<double>> run(const std::string &text, const char *engine, const char *refusal = nullptr) {
  std::vector<std::vector<double>> outputs;
  auto model = parseQfx(std::make_shared<SourceText>(SourceText{"worked", "qfx 1\n" + text}));
  if (!model) {
    FAIL_CHECK(toText(model.takeError()));
    return outputs;
  }
  ProgramOptions options;
  options.engine = engine;
  auto program = Program::compile(*model, options);
  if (!program) {
    const std::string message = toText(program.takeError());
    INFO(message);
    CHECK((refusal && message.find(refusal) != std::string::npos));
    return outputs;
  }
  CHECK(!refusal);
  auto results = (*program)->run(llvm::ArrayRef<Tensor>());
  if (!results) {
    FAIL_CHECK(toText(results.takeError()));
    return outputs;
  }
  for (const NamedValue &value : *results) {
    outputs.emplace_back();
    for (int64_t i = 0; i < value.value.tensor.getNumElements(); ++i)
      outputs.back().push_back(value.value.tensor.getElementAsDouble(i));
  }
  return outputs;
}

/// Seven digits are printed in the specification: within 1e-6 of each number, or of 1.
static void checkOutputs(const std::vector<std::vector<double>> &actual, const std::vector<std::vector<double>> &expected) {
  REQUIRE(actual.size() == expected.size());
  for (size_t k = 0; k < expected.size(); ++k) {
    REQUIRE(actual[k].size() == expected[k].size());
    for (size_t i = 0; i < expected[k].size(); ++i) {
      INFO("output " << k << ", element " << i << ": " << actual[k][i] << " for " << expected[k][i]);
      CHECK(std::abs(actual[k][i] - expected[k][i]) <= 1e-6 * std::max(1.0, std::abs(expected[k][i])));
    }
  }
}

TEST_CASE("X05, X15: what onednn refuses and the others take", "[quantized][worked]") {
  const char *const zeroPoint = R"(buffer x : quint8[2, 3]{scale=0.1, zero_point=10} = [[12, 0, 255], [7, 9, 11]]
buffer w : qint8[2, 3]{scale=0.05, zero_point=2} = [[1, -2, 3], [127, 0, -128]]
buffer b : f32[2] = [0.1, -0.2]
graph() {
  %x = get_attr[x]()
  %w = get_attr[w]()
  %b = get_attr[b]()
  %p = call_function[torch.ops.quantized.linear_prepack](%w, %b)
  %y = call_function[torch.ops.quantized.linear](%x, %p, 0.5, 20)
  return %y
})";
  for (const char *engine : {"x86", "fbgemm", "qnnpack"})
    checkOutputs(run(zeroPoint, engine), {{23, 0, 20, 15}});
}

TEST_CASE("X58: the first rows of a bilinear enlargement", "[quantized][worked]") { // codes of PyTorch 2.13, which rounds ties otherwise than the spec
  checkOutputs(run(R"(buffer M : quint8[1, 1, 3, 3]{scale=0.1, zero_point=7} = [[[[10, 20, 30], [40, 55, 60], [70, 80, 91]]]]
graph() {
  %M = get_attr[M]()
  %u = call_function[torch.ao.nn.quantized.functional.interpolate](%M, scale_factor=2, mode="bilinear", align_corners=False)
  %y = call_function[operator.getitem](%u, (slice(None, None, None), slice(None, None, None), slice(None, 2, None)))
  return %y
})",
                   "x86"),
               {{10, 12, 18, 22, 28, 30, 18, 20, 26, 31, 35, 38}});
}

TEST_CASE("X71, X72: linear_dynamic without and with reduce_range", "[quantized][worked]") {
  auto text = [](const char *reduce) {
    return std::string(R"(buffer x : f32[2, 2] = [[-1.0, 3.0], [0.5, 0.25]]
buffer w : qint8[2, 2]{scale=0.05, zero_point=0} = [[10, -20], [30, 40]]
buffer b : f32[2] = [0.1, -0.1]
graph() {
  %x = get_attr[x]()
  %w = get_attr[w]()
  %b = get_attr[b]()
  %p = call_function[torch.ops.quantized.linear_prepack](%w, %b)
  %y = call_function[torch.ops.quantized.linear_dynamic](%x, %p, )") +
           reduce + ")\n  return %y\n}";
  };
  const std::vector<double> whole = {-3.39804, 4.386275, 0.1, 1.154902}, reduced = {-3.396063, 4.372441, 0.1, 1.159842};
  for (const char *engine : {"x86", "fbgemm", "onednn", "qnnpack"}) {
    INFO(engine);
    checkOutputs(run(text("False"), engine), {whole});
    checkOutputs(run(text("True"), engine), {std::string(engine) == "qnnpack" ? whole : reduced});
  }
}

TEST_CASE("X74: a dynamic GRU cell", "[quantized][worked]") {
  const char *const text = R"(buffer x : f32[1, 1] = [[1.0]]
buffer h : f32[1, 1] = [[0.5]]
buffer wi : qint8[3, 1]{scale=0.01, zero_point=0} = [[10], [20], [30]]
buffer wh : qint8[3, 1]{scale=0.02, zero_point=0} = [[5], [-5], [10]]
buffer b : f32[3] = [0.1, 0.2, -0.1]
graph() {
  %x = get_attr[x]()
  %h = get_attr[h]()
  %wi = get_attr[wi]()
  %wh = get_attr[wh]()
  %b = get_attr[b]()
  %pi = call_function[torch.ops.quantized.linear_prepack](%wi, %b)
  %ph = call_function[torch.ops.quantized.linear_prepack](%wh, %b)
  %y = call_function[torch.ops.quantized.quantized_gru_cell_dynamic](%x, %h, %pi, %ph, %b, %b)
  return %y
})";
  for (const char *engine : {"x86", "fbgemm", "onednn", "qnnpack"})
    checkOutputs(run(text, engine), {{0.3892804}});
}

TEST_CASE("X75: a dynamic LSTM over two steps", "[quantized][worked]") {
  const std::string tensors = R"(buffer x : f32[2, 1, 1] = [[[1.0]], [[-0.5]]]
buffer s : f32[1, 1, 1] = 0.0
buffer wi : qint8[4, 1]{scale=0.01, zero_point=0} = [[10], [20], [30], [40]]
buffer wh : qint8[4, 1]{scale=0.02, zero_point=0} = [[5], [-5], [10], [-10]]
buffer b : f32[4] = [0.1, 0.2, -0.1, 0.0]
graph() {
  %x = get_attr[x]()
  %s = get_attr[s]()
  %wi = get_attr[wi]()
  %wh = get_attr[wh]()
  %b = get_attr[b]()
  %pi = call_function[torch.ops.quantized.linear_prepack](%wi, %b)
  %ph = call_function[torch.ops.quantized.linear_prepack](%wh, %b)
  %c = call_function[torch.ops.quantized.make_quantized_cell_params_dynamic](%pi, %ph, %b, %b, True)
  %y = call_function[torch.quantized_lstm](%x, [%s, %s], [%c], True, 1, 0.0, False, False, False, dtype=torch.qint8, use_dynamic=True)
  return %y
})";
  const std::string layer = R"(buffer x : f32[2, 1, 1] = [[[1.0]], [[-0.5]]]
module m : torch.ao.nn.quantized.dynamic.LSTM(input_size=1, hidden_size=1)
parameter m.weight_ih_l0 : qint8[4, 1]{scale=0.01, zero_point=0} = [[10], [20], [30], [40]]
parameter m.weight_hh_l0 : qint8[4, 1]{scale=0.02, zero_point=0} = [[5], [-5], [10], [-10]]
parameter m.bias_ih_l0 : f32[4] = [0.1, 0.2, -0.1, 0.0]
parameter m.bias_hh_l0 : f32[4] = [0.1, 0.2, -0.1, 0.0]
graph() {
  %x = get_attr[x]()
  %y = call_module[m](%x)
  return %y
})";
  for (const std::string &text : {tensors, layer}) {
    for (const char *engine : {"x86", "fbgemm", "onednn"})
      checkOutputs(run(text, engine), {{0.03466805, -0.0641783}, {-0.0641783}, {-0.1439736}});
    checkOutputs(run(text, "qnnpack"), {{0.03423959, -0.06455322}, {-0.06455322}, {-0.1449471}});
  }
}

TEST_CASE("X82: a module of quantization-aware training with frozen statistics", "[quantized][worked]") {
  checkOutputs(run(R"(buffer x : f32[1, 1, 2, 2] = [[[[1.0, 2.0], [3.0, -1.0]]]]
module m : torch.ao.nn.intrinsic.qat.ConvBn2d(in_channels=1, out_channels=1, kernel_size=1, bias=True, freeze_bn=True)
parameter m.weight : f32[1, 1, 1, 1] = [[[[0.7]]]]
parameter m.bias : f32[1] = [0.25]
module m.bn : torch.nn.BatchNorm2d(num_features=1)
parameter m.bn.weight : f32[1] = [1.5]
parameter m.bn.bias : f32[1] = [-0.5]
buffer m.bn.running_mean : f32[1] = [0.2]
buffer m.bn.running_var : f32[1] = [0.81]
module m.weight_fake_quant : torch.ao.quantization.fake_quantize.FakeQuantize(quant_min=-128, quant_max=127)
module m.weight_fake_quant.activation_post_process : torch.ao.quantization.observer.MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric, quant_min=-128, quant_max=127)
buffer m.weight_fake_quant.activation_post_process.eps : f32[1] = [1.1920928955078125e-07]
buffer m.weight_fake_quant.activation_post_process.min_val : f32[] = 0.0
buffer m.weight_fake_quant.activation_post_process.max_val : f32[] = 0.0
buffer m.weight_fake_quant.fake_quant_enabled : u8[1] = [1]
buffer m.weight_fake_quant.observer_enabled : u8[1] = [0]
buffer m.weight_fake_quant.scale : f32[1] = [0.00915027]
buffer m.weight_fake_quant.zero_point : i32[1] = [0]
graph() {
  %x = get_attr[x]()
  %y = call_module[m](%x)
  return %y
})",
                   "x86"),
               {{0.7454171, 1.907501, 3.069586, -1.578752}});
}

TEST_CASE("X84: a reference linear layer", "[quantized][worked]") {
  checkOutputs(run(R"(buffer x : f32[1, 2] = [[1.0, 2.0]]
module m : torch.ao.nn.quantized.reference.Linear(in_features=2, out_features=1, weight_qscheme=torch.per_tensor_affine, weight_dtype=torch.qint8)
parameter m.weight : f32[1, 2] = [[0.26, -0.71]]
parameter m.bias : f32[1] = [0.5]
buffer m.weight_scale : f32[] = 0.1
buffer m.weight_zero_point : i64[] = 0
graph() {
  %x = get_attr[x]()
  %w = get_attr[m.weight]()
  %q = call_function[torch.quantize_per_tensor](%w, 0.1, 0, torch.qint8)
  %d = call_method[dequantize](%q)
  %y = call_module[m](%x)
  return (%y, %d)
})",
                   "x86"),
               {{-0.5999999}, {0.3, -0.7}});
}
