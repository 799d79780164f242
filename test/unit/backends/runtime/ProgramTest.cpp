// Programs as callers see them: batches, inputs, outputs, errors, observers, kept values.
#include "Catch.h"
#include "GoldenCases.h"
#include "ir/text/QfxText.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace qfx;
using namespace qfx::test;

namespace {

GraphModule parse(const std::string &text) {
  auto model = parseQfx(std::make_shared<SourceText>(SourceText{"test.qfx", text}));
  if (!model)
    FAIL(toText(model.takeError()));
  return std::move(*model);
}

std::unique_ptr<Program> compile(const GraphModule &model, const ProgramOptions &options = {}) {
  auto program = Program::compile(model, options);
  if (!program)
    FAIL(toText(program.takeError()));
  return std::move(*program);
}

std::vector<NamedValue> run(Program &program, const NamedTensors &inputs) {
  auto outputs = program.run(inputs);
  if (!outputs)
    FAIL(toText(outputs.takeError()));
  return std::move(*outputs);
}

std::string getCompileError(const std::string &text) {
  GraphModule model = parse(text);
  auto program = Program::compile(model);
  return program ? "" : toText(program.takeError());
}

Tensor fill(llvm::ArrayRef<int64_t> sizes, float start = 0) {
  std::vector<float> values(static_cast<size_t>(*checkedNumElements(sizes)));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = start + static_cast<float>(i % 17) * 0.25f - 2.0f;
  return Tensor::of<float>(DType::Float32, sizes, values);
}

const char *const kNet = R"(qfx 1
module conv : torch.nn.Conv2d(in_channels=2, out_channels=3, kernel_size=(3, 3), padding=(1, 1))
parameter conv.weight : f32[3, 2, 3, 3] = random(seed=1)
parameter conv.bias : f32[3] = [0.5, -0.5, 0.25]
graph(%x : f32[N, 2, 4, 5]) {
  %conv = call_module[conv](%x)
  %relu = call_function[torch.relu](%conv)
  %mean = call_method[mean](%relu, [2, 3])
  return %mean
}
)";

} // namespace

TEST_CASE("one program runs any batch size", "[runtime][batch]") {
  GraphModule model = parse(kNet);
  std::unique_ptr<Program> program = compile(model);
  CHECK(program->getInputNames() == std::vector<std::string>{"x"});
  std::vector<Tensor> single;
  Tensor all = fill({3, 2, 4, 5});
  for (int64_t i = 0; i < 3; ++i) {
    Tensor one =
        Tensor::of<float>(DType::Float32, {1, 2, 4, 5}, all.getData<float>().slice(static_cast<size_t>(i) * 40, 40));
    std::vector<NamedValue> outputs = run(*program, {{"x", one}});
    single.push_back(outputs[0].value.tensor);
  }
  std::vector<NamedValue> outputs = run(*program, {{"x", all}});
  const Tensor &batch = outputs[0].value.tensor;
  REQUIRE(batch.getSizes() == llvm::ArrayRef<int64_t>({3, 3}));
  for (int64_t i = 0; i < 9; ++i)
    CHECK(batch.getData<float>()[static_cast<size_t>(i)] ==
          single[static_cast<size_t>(i / 3)].getData<float>()[static_cast<size_t>(i % 3)]);
  std::vector<NamedValue> empty = run(*program, {{"x", fill({0, 2, 4, 5})}});
  CHECK(empty[0].name == "out");
  CHECK(empty[0].value.tensor.getSizes() == llvm::ArrayRef<int64_t>({0, 3}));
}

TEST_CASE("every golden case runs with batch 0, 1 and 3", "[runtime][batch]") {
  for (const std::string &name : getCaseNames("packed_")) {
    INFO(name);
    GraphModule model = loadCase(name);
    std::unique_ptr<Program> program = compile(model);
    Tensor input = getCaseTensors(name, "in")[0].second;
    for (int64_t batch : {0, 1, 3, 1}) {
      llvm::SmallVector<int64_t, 4> sizes(input.getSizes().begin(), input.getSizes().end());
      sizes[0] = batch;
      std::vector<NamedValue> outputs = run(*program, {{"x0", fill(sizes)}});
      CHECK(outputs[0].value.tensor.getSizes()[0] == batch);
    }
  }
}

TEST_CASE("wrong inputs are named", "[runtime][errors]") {
  GraphModule model = parse(kNet);
  std::unique_ptr<Program> program = compile(model);
  auto getError = [&](const NamedTensors &inputs) {
    auto outputs = program->run(inputs);
    return outputs ? std::string() : toText(outputs.takeError());
  };
  CHECK(getError({}).find("input 'x' is missing") != std::string::npos);
  CHECK(getError({{"y", fill({1, 2, 4, 5})}}).find("no input 'y'") != std::string::npos);
  CHECK(getError({{"x", fill({1, 2, 4})}}).find("another rank") != std::string::npos);
  CHECK(getError({{"x", fill({1, 2, 4, 6})}}).find("dimension 3 must be 5") != std::string::npos);
  Tensor bytes = Tensor::of<uint8_t>(DType::UInt8, {1, 2, 4, 5}, std::vector<uint8_t>(40));
  CHECK(getError({{"x", bytes}}).find("another dtype") != std::string::npos);
  CHECK(getError({{"x", fill({2, 2, 4, 5})}}).empty()); // still works afterwards
}

TEST_CASE("what cannot run is said when compiling, with place and operator", "[runtime][errors]") {
  std::string error = getCompileError(R"(qfx 1
graph(%x : f32[N, 4]) {
  %q = call_function[torch.quantize_per_tensor](%x, 0.1, 3, torch.quint8)
  %y = call_function[torch.exp](%q)
  return %y
}
)");
  CHECK(error.find("test.qfx:4:") != std::string::npos);
  CHECK(error.find("Exp") != std::string::npos);
  error = getCompileError(R"(qfx 1
graph(%x : f32[N, 4, 4, 4]) {
  %y = call_function[torch.nn.functional.dropout](%x, 0.5, True)
  return %y
}
)");
  CHECK(error.find("training=True") != std::string::npos);
  error = getCompileError(R"(qfx 1
module bn : torch.nn.BatchNorm2d(num_features=4, track_running_stats=False)
parameter bn.weight : f32[4] = 1
parameter bn.bias : f32[4] = 0
graph(%x : f32[N, 4, 4, 4]) {
  %y = call_module[bn](%x)
  return %y
}
)");
  CHECK(error.find("batch statistics") != std::string::npos);
}

TEST_CASE("intermediates beyond the limit are an error", "[runtime][errors]") {
  GraphModule model = parse("qfx 1\ngraph(%x : f32[N, 1000]) {\n  %y = call_function[torch.exp](%x)\n  return %y\n}\n");
  ProgramOptions options;
  options.maxArenaBytes = 100000;
  std::unique_ptr<Program> program = compile(model, options);
  run(*program, {{"x", fill({10, 1000})}});
  auto outputs = program->run({{"x", fill({1000, 1000})}});
  REQUIRE_FALSE(static_cast<bool>(outputs));
  CHECK(toText(outputs.takeError()).find("[run_memory]") != std::string::npos);
}

TEST_CASE("observers see values only when asked to, and pass them through", "[runtime][observe]") {
  GraphModule model = parse(R"(qfx 1
module obs : torch.ao.quantization.observer.MinMaxObserver()
buffer obs.eps : f32[1] = [1.1920928955078125e-07]
buffer obs.min_val : f32[] = inf
buffer obs.max_val : f32[] = -inf
graph(%x : f32[N, 3]) {
  %y = call_function[torch.nn.functional.hardtanh](%x, -1.5, 1.0)
  %obs = call_module[obs](%y)
  return %obs
}
)");
  ModuleRef observer = model.getRoot().findModule("obs");
  Tensor input = Tensor::of<float>(DType::Float32, {1, 3}, std::vector<float>{-2, 0.5f, 3});
  run(*compile(model), {{"x", input}});
  CHECK(observer->getTensor("min_val").getElementAsDouble(0) == INFINITY);
  ProgramOptions options;
  options.observe = true;
  std::unique_ptr<Program> program = compile(model, options);
  std::vector<NamedValue> outputs = run(*program, {{"x", input}});
  CHECK(outputs[0].value.tensor.getData<float>()[0] == -1.5f);
  CHECK(observer->getTensor("min_val").getElementAsDouble(0) == -1.5);
  CHECK(observer->getTensor("max_val").getElementAsDouble(0) == 1.0);
  run(*program, {{"x", fill({0, 3})}}); // nothing to see
}

TEST_CASE("kept values are those of every node", "[runtime][keep]") {
  GraphModule model = parse(kNet);
  std::unique_ptr<Program> program = compile(model);
  Tensor input = fill({2, 2, 4, 5});
  auto result = program->runAndKeep({{"x", input}});
  if (!result)
    FAIL(toText(result.takeError()));
  std::vector<NamedValue> kept = std::move(*result);
  std::vector<std::string> names;
  for (const NamedValue &value : kept)
    names.push_back(value.name);
  CHECK(names == std::vector<std::string>{"x", "conv", "relu", "mean"});
  CHECK(kept[0].value.tensor.equals(input));
  const Tensor &conv = kept[1].value.tensor, &relu = kept[2].value.tensor;
  bool anyNegative = false;
  for (size_t i = 0; i < conv.getData<float>().size(); ++i) {
    float value = conv.getData<float>()[i];
    anyNegative |= value < 0;
    CHECK(relu.getData<float>()[i] == std::max(value, 0.0f));
  }
  CHECK(anyNegative); // the clamp was not fused away
  std::vector<NamedValue> plain = run(*program, {{"x", input}});
  CHECK(plain[0].value.tensor.equals(kept[3].value.tensor));
}

TEST_CASE("constants are computed once, weights packed once", "[runtime][plan]") {
  GraphModule model = parse(R"(qfx 1
parameter w : f32[4, 3] = random(seed=5)
graph(%x : f32[N, 3]) {
  %w = get_attr[w]()
  %q = call_function[torch.quantize_per_tensor](%w, 0.02, 0, torch.qint8)
  %d = call_method[dequantize](%q)
  %y = call_function[torch.nn.functional.linear](%x, %d)
  return %y
}
)");
  std::unique_ptr<Program> program = compile(model);
  int64_t packed = program->getPackedBytes();
  CHECK(packed > 0);
  run(*program, {{"x", fill({2, 3})}});
  run(*program, {{"x", fill({5, 3})}});
  CHECK(program->getPackedBytes() == packed);
}

TEST_CASE("constants that hang on an input's sizes belong to their plan", "[runtime][plan]") {
  GraphModule model = parse(R"(qfx 1
graph(%x : f32[N, 3]) {
  %n = call_method[size](%x, 0)
  %steps = call_function[torch.arange](%n)
  %count = call_function[torch.full]([1], %n)
  %total = call_function[torch.add](%steps, %count)
  return %total
}
)");
  std::unique_ptr<Program> program = compile(model);
  for (int64_t n : {2, 5, 2}) {
    std::vector<NamedValue> outputs = run(*program, {{"x", fill({n, 3})}});
    REQUIRE(outputs[0].value.tensor.getSizes() == llvm::ArrayRef<int64_t>({n}));
    for (int64_t i = 0; i < n; ++i)
      CHECK(outputs[0].value.tensor.getElementAsDouble(i) == static_cast<double>(i + n));
  }
}

TEST_CASE("profiles name each node", "[runtime][profile]") {
  GraphModule model = parse(kNet);
  std::unique_ptr<Program> program = compile(model);
  program->setProfiling(true);
  run(*program, {{"x", fill({1, 2, 4, 5})}});
  run(*program, {{"x", fill({1, 2, 4, 5})}});
  std::vector<NodeTime> profile = program->getProfile();
  REQUIRE(profile.size() == 2); // relu runs inside the convolution
  CHECK(profile[0].name == "conv");
  CHECK(profile[0].runs == 2);
  CHECK(profile[1].name == "mean");
}
