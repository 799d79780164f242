// Recurrent layers and cells, float and dynamically quantized, against PyTorch (operators 11.4): T2, threads, refusals.
#include "Catch.h"
#include "unit/backends/recurrent/RecurrentCases.h"
#include "unit/ir/IrTest.h"

using namespace qfx;
using namespace qfx::test;

TEST_CASE("recurrent layers and cells give PyTorch's values", "[recurrent][golden]") {
  std::vector<TextCase> cases = loadTextCases("recurrent");
  REQUIRE(cases.size() >= 170);
  for (const TextCase &one : cases)
    DYNAMIC_SECTION(one.name) { CHECK(getWorstError(runText(one.text, one.inputs), one.outputs) <= 1e-5); }
}

TEST_CASE("the number of threads changes no bit of a recurrent layer", "[recurrent][threads]") {
  for (const TextCase &one : loadTextCases("recurrent")) {
    INFO(one.name);
    std::vector<NamedValue> single = runText(one.text, one.inputs);
    for (int threads : {2, 3}) {
      ProgramOptions options;
      options.threads = threads;
      std::vector<NamedValue> more = runText(one.text, one.inputs, options);
      REQUIRE(more.size() == single.size());
      for (size_t i = 0; i < single.size(); ++i)
        CHECK(more[i].value.tensor.equals(single[i].value.tensor));
    }
  }
}

/// Large enough that every product is shared out.
TEST_CASE("threads share a large recurrent layer without changing it", "[recurrent][threads]") {
  const char *classes[] = {"torch.nn.LSTM", "torch.ao.nn.quantized.dynamic.LSTM"};
  for (const char *name : classes) {
    bool isFloat = std::string(name) == classes[0];
    auto weight = [&](const std::string &key, const std::string &dims, int seed) {
      std::string type = isFloat ? "f32[" + dims + "]" : "qint8[" + dims + "]{scale=0.002, zero_point=0}";
      std::string bounds = isFloat ? ", low=-0.2, high=0.2)" : ", low=-127, high=127)";
      return "parameter m." + key + " : " + type + " = random(seed=" + std::to_string(seed) + bounds + "\n";
    };
    std::string text = "qfx 1\nmodule m : " + std::string(name) +
                       "(input_size=96, hidden_size=160, bias=False, bidirectional=True)\n" +
                       weight("weight_ih_l0", "640, 96", 1) + weight("weight_hh_l0", "640, 160", 2) +
                       weight("weight_ih_l0_reverse", "640, 96", 3) + weight("weight_hh_l0_reverse", "640, 160", 4) +
                       "parameter x : f32[9, 50, 96] = random(seed=5)\n"
                       "graph(%s : f32[1]) {\n  %x = get_attr[x]()\n  %y = call_function[torch.add](%x, %s)\n"
                       "  %r = call_module[m](%y)\n  return %r\n}\n";
    NamedTensors inputs = {{"s", Tensor::of<float>(DType::Float32, {1}, {0.0f})}};
    std::vector<NamedValue> single = runText(text, inputs);
    for (int threads : {2, 3}) {
      ProgramOptions options;
      options.threads = threads;
      std::vector<NamedValue> more = runText(text, inputs, options);
      for (size_t i = 0; i < single.size(); ++i)
        CHECK(more[i].value.tensor.equals(single[i].value.tensor));
    }
  }
}

TEST_CASE("recurrent layers refuse what does not fit", "[recurrent]") {
  const char *weights = "parameter m.weight_ih_l0 : f32[16, 3] = 0\nparameter m.weight_hh_l0 : f32[16, 4] = 0\n";
  auto compile = [&](const std::string &inputs, const std::string &call, const std::string &attributes = "") {
    GraphModule model =
        parseOrFail("qfx 1\nmodule m : torch.nn.LSTM(input_size=3, hidden_size=4, bias=False" + attributes + ")\n" +
                    weights + "graph(" + inputs + ") {\n  %r = call_module[m](" + call + ")\n  return %r\n}\n");
    auto program = Program::compile(model);
    return program ? std::string() : getMessages(program.takeError());
  };
  CHECK(compile("%x : f32[5, 2, 3]", "%x") == "");
  CHECK_THAT(compile("%x : f32[5, 2, 7]", "%x"), Catch::Contains("lstm_features"));
  CHECK_THAT(compile("%x : f32[5]", "%x"), Catch::Contains("lstm_rank"));
  CHECK_THAT(compile("%x : f32[0, 2, 3]", "%x"), Catch::Contains("lstm_length"));
  CHECK_THAT(compile("%x : i64[5, 2, 3]", "%x"), Catch::Contains("lstm_dtype"));
  CHECK_THAT(compile("%x : f32[5, 2, 3], %h : f32[1, 2, 4]", "%x, %h"), Catch::Contains("lstm_hidden"));
  CHECK_THAT(compile("%x : f32[5, 2, 3], %h : f32[2, 2, 4], %c : f32[1, 2, 4]", "%x, (%h, %c)"),
             Catch::Contains("hidden[0] of type f32[1, 2, 4], got f32[2, 2, 4]"));
  CHECK_THAT(compile("%x : f32[5, 2, 3], %h : f32[1, 2, 4], %c : f32[1, 3, 4]", "%x, (%h, %c)"),
             Catch::Contains("hidden[1] of type f32[1, 2, 4], got f32[1, 3, 4]"));
}

TEST_CASE("a cell of unknown nonlinearity is refused", "[recurrent]") {
  GraphModule model = parseOrFail("qfx 1\nmodule m : torch.nn.RNNCell(input_size=3, hidden_size=4, bias=False, "
                                  "nonlinearity=\"elu\")\nparameter m.weight_ih : f32[4, 3] = 0\n"
                                  "parameter m.weight_hh : f32[4, 4] = 0\ngraph(%x : f32[2, 3]) {\n"
                                  "  %r = call_module[m](%x)\n  return %r\n}\n");
  auto program = Program::compile(model);
  REQUIRE_FALSE(static_cast<bool>(program));
  CHECK_THAT(getMessages(program.takeError()), Catch::Contains("must be 'tanh' or 'relu', got \"elu\""));
}

/// Operators 26, X03: with a bias of 0.4 steps, stage F keeps it and stage Q drops it.
TEST_CASE("a model runs with the output stage of the engine it was lowered for", "[runtime]") {
  std::string text =
      "module m : torch.ao.nn.quantized.Linear(in_features=1, out_features=1, scale=0.005, zero_point=100)\n"
      "parameter m.weight : qint8[1, 1]{scale=0.1, zero_point=0} = [[1]]\n"
      "parameter m.bias : f32[1] = [0.004]\ngraph(%x : f32[N, 1]) {\n"
      "  %q = call_function[torch.quantize_per_tensor](%x, 0.1, 10, torch.quint8)\n"
      "  %r = call_module[m](%q)\n  return %r\n}\n";
  NamedTensors inputs = {{"x", Tensor::of<float>(DType::Float32, {4, 1}, {0.0f, 0.1f, 0.2f, 0.3f})}};
  auto run = [&](const std::string &meta, const ProgramOptions &options) {
    Tensor out = runText("qfx 1\n" + meta + text, inputs, options)[0].value.tensor;
    std::vector<int> codes;
    for (uint8_t code : out.getData<uint8_t>())
      codes.push_back(code);
    return codes;
  };
  const std::vector<int> stageF = {101, 103, 105, 107}, stageQ = {100, 102, 104, 106};
  CHECK(run("", {}) == stageF);
  CHECK(run("meta engine = \"qnnpack\"\n", {}) == stageQ);
  ProgramOptions x86;
  x86.engine = "x86";
  CHECK(run("meta engine = \"qnnpack\"\n", x86) == stageF);
}

TEST_CASE("an empty batch passes a recurrent layer", "[recurrent]") {
  std::string text = "qfx 1\nmodule m : torch.nn.GRU(input_size=3, hidden_size=4, bias=False)\n"
                     "parameter m.weight_ih_l0 : f32[12, 3] = 0\nparameter m.weight_hh_l0 : f32[12, 4] = 0\n"
                     "graph(%x : f32[T, N, 3]) {\n  %r = call_module[m](%x)\n  return %r\n}\n";
  std::vector<NamedValue> outputs = runText(text, {{"x", Tensor::of<float>(DType::Float32, {5, 0, 3}, {})}});
  REQUIRE(outputs.size() == 2);
  CHECK(outputs[0].value.tensor.getSizes() == llvm::ArrayRef<int64_t>({5, 0, 4}));
  CHECK(outputs[1].value.tensor.getSizes() == llvm::ArrayRef<int64_t>({1, 0, 4}));
}
