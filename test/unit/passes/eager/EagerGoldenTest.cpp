// Eager flows against PyTorch 2.13: the integers that reach each DeQuantize, code for code (test/golden/eager).
#include "../PassTest.h"
#include "backends/runtime/Program.h"
#include "ir/Ops.h"
#include "ir/Text.h"
#include "ir/weights/Safetensors.h"
#include "passes/PassManager.h"

#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace qfx;

static std::string getFolder(const std::string &name) { return std::string(QFX_GOLDEN_DIR) + "/eager/" + name; }

static NamedTensors loadTensors(const std::string &path) { return require(require(SafetensorsFile::open(path)).readAll()); }

static Tensor findTensor(const NamedTensors &tensors, llvm::StringRef name) {
  for (const auto &[key, tensor] : tensors)
    if (key == name)
      return tensor;
  return Tensor();
}

static std::string readFlow(const std::string &folder) {
  auto buffer = llvm::MemoryBuffer::getFile(folder + "/flow.txt");
  REQUIRE(buffer);
  return (*buffer)->getBuffer().split('\n').second.trim().str();
}

/// The float model after the passes of its flow.
static GraphModule runFlow(const std::string &folder, TestContext &context) {
  GraphModule model = require(loadModel(folder + "/model.qfx"));
  if (auto batches = loadInputs(folder + "/calib.safetensors"))
    context.context.calibrationData = *batches;
  else
    llvm::consumeError(batches.takeError());
  PassManager manager;
  manager.add(require(parsePipeline(readFlow(folder))));
  std::string problem = describe(manager.run(model, context.context));
  INFO(folder);
  REQUIRE(problem == "");
  return model;
}

static std::vector<NamedValue> runAndKeep(const GraphModule &model, const std::string &folder) {
  auto program = require(Program::compile(model));
  return require(program->runAndKeep(loadTensors(folder + "/input.safetensors")));
}

static Tensor findValue(const std::vector<NamedValue> &values, llvm::StringRef name) {
  for (const NamedValue &value : values)
    if (value.name == name)
      return value.value.tensor;
  return Tensor();
}

static size_t countDifferences(const Tensor &actual, const Tensor &expected) {
  size_t different = 0;
  for (int64_t i = 0; i < expected.getNumElements(); ++i)
    different += actual.getElementAsDouble(i) != expected.getElementAsDouble(i);
  return different;
}

/// Codes equal; scales to 1e-6, since observers see float results whose sums PyTorch takes in another order.
static void compareCodes(const Tensor &actual, const NamedTensors &expected, const std::string &index) {
  Tensor codes = findTensor(expected, index + ".codes");
  REQUIRE(actual);
  REQUIRE(actual.getQuantizer());
  double scale = findTensor(expected, index + ".scale").getElementAsDouble(0);
  CHECK(std::abs(actual.getQuantizer()->getScale() - scale) <= 1e-6 * scale);
  CHECK(static_cast<double>(actual.getQuantizer()->getZeroPoint()) == findTensor(expected, index + ".zero_point").getElementAsDouble(0));
  REQUIRE(actual.getSizes() == codes.getSizes());
  CHECK(countDifferences(actual, codes) == 0);
}

static void compareFloats(const Tensor &actual, const Tensor &expected) {
  REQUIRE(actual);
  REQUIRE(actual.getSizes() == expected.getSizes());
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < expected.getNumElements(); ++i) {
    largest = std::max(largest, std::abs(expected.getElementAsDouble(i)));
    worst = std::max(worst, std::abs(actual.getElementAsDouble(i) - expected.getElementAsDouble(i)));
  }
  CHECK(worst <= 1e-5 * largest);
}

TEST_CASE("eager flows give PyTorch's integers", "[passes][eager][golden]") {
  std::string name = GENERATE(as<std::string>(), "ConvNet", "Residual", "Mobile", "Mlp", "Audio", "Video", "Wrapped", "Deconv", "Norms",
                              "Attention", "Qat", "Words", "Lstm");
  INFO(name);
  std::string folder = getFolder(name);
  TestContext context("native");
  GraphModule model = runFlow(folder, context);
  NamedTensors expected = loadTensors(folder + "/expected.safetensors");
  std::vector<NamedValue> values = runAndKeep(model, folder);
  int index = 0;
  for (const Node &node : model.getGraph().nodes())
    if (node.is(Opcode::CallModule) && model.getModule(node)->getClassName() == "torch.ao.nn.quantized.DeQuantize")
      compareCodes(findValue(values, node.getArg(0).getNode()->getName()), expected, std::to_string(index++));
  CHECK_FALSE(findTensor(expected, std::to_string(index) + ".codes"));
  CHECK(index > 0);
  compareFloats(findValue(values, model.getGraph().getOutput()->getArg(0).getNode()->getName()), findTensor(expected, "output"));
}

TEST_CASE("quantize_dynamic gives PyTorch's weights and results", "[passes][eager][golden]") {
  std::string name = GENERATE(as<std::string>(), "DynamicInt8", "DynamicFloat16", "RecurrentInt8", "RecurrentFloat16");
  INFO(name);
  std::string folder = getFolder(name);
  TestContext context("native");
  GraphModule model = runFlow(folder, context);
  int weights = 0;
  for (const auto &[key, expected] : loadTensors(folder + "/expected.safetensors")) {
    if (key == "output")
      continue;
    INFO(key);
    ModuleRef layer = model.getRoot().findModule(splitPath(key).first);
    REQUIRE(layer);
    CHECK(startsWith(layer->getClassName(), "torch.ao.nn.quantized.dynamic."));
    CHECK(countDifferences(layer->getTensor(splitPath(key).second), expected) == 0);
    ++weights;
  }
  CHECK(weights >= 2);
  std::string output = model.getGraph().getOutput()->getArg(0).getNode()->getName();
  compareFloats(findValue(runAndKeep(model, folder), output), findTensor(loadTensors(folder + "/expected.safetensors"), "output"));
}
