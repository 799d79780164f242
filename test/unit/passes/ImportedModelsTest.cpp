// Models that torch.ao.quantization prepared, trained or converted: imported, they give its graphs and numbers (test/golden/imported).
#include "PassTest.h"
#include "backends/runtime/Program.h"
#include "ir/weights/Safetensors.h"
#include "passes/QuantizeFx.h"
#include "passes/eager/Eager.h"
#include "passes/lower/Lower.h"

#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace qfx;

static std::string getFolder(const std::string &name) { return std::string(QFX_GOLDEN_DIR) + "/imported/" + name; }

static std::string readText(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  REQUIRE(buffer);
  return (*buffer)->getBuffer().split('\n').second.rtrim().str();
}

static NamedTensors loadTensors(const std::string &path) { return require(require(SafetensorsFile::open(path)).readAll()); }

static Tensor find(const NamedTensors &tensors, llvm::StringRef name) {
  for (const auto &[key, tensor] : tensors)
    if (key == name)
      return tensor;
  FAIL("no tensor " << name.str());
  return Tensor();
}

static void checkFloats(const GraphModule &model, const std::string &folder, const Tensor &expected) {
  auto program = require(Program::compile(model));
  Tensor actual = require(program->run(loadTensors(folder + "/input.safetensors"))).front().value.tensor;
  REQUIRE(actual.getSizes() == expected.getSizes());
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < expected.getNumElements(); ++i) {
    largest = std::max(largest, std::abs(expected.getElementAsDouble(i)));
    worst = std::max(worst, std::abs(actual.getElementAsDouble(i) - expected.getElementAsDouble(i)));
  }
  CHECK(worst <= 1e-6 * largest); // float32 results of equal codes: scale * (code - zero point)
}

/// The value that the last dequantize reads has PyTorch's codes and parameters.
static void checkCodes(const GraphModule &model, const std::string &folder) {
  NamedTensors expected = loadTensors(folder + "/expected.safetensors");
  auto program = require(Program::compile(model));
  std::string name;
  for (const Node &node : model.getGraph().nodes())
    if (node.is(Opcode::CallMethod) && node.getTargetText() == "dequantize")
      name = node.getArg(0).getNode()->getName();
  Tensor actual;
  for (const NamedValue &value : require(program->runAndKeep(loadTensors(folder + "/input.safetensors"))))
    if (value.name == name)
      actual = value.value.tensor;
  REQUIRE(actual);
  REQUIRE(actual.getQuantizer());
  CHECK(actual.getQuantizer()->getScale() == find(expected, "scale").getElementAsDouble(0));
  CHECK(static_cast<double>(actual.getQuantizer()->getZeroPoint()) == find(expected, "zero_point").getElementAsDouble(0));
  Tensor codes = find(expected, "codes");
  REQUIRE(actual.getSizes() == codes.getSizes());
  size_t different = 0;
  for (int64_t i = 0; i < codes.getNumElements(); ++i)
    different += actual.getElementAsDouble(i) != codes.getElementAsDouble(i);
  CHECK(different == 0);
}

TEST_CASE("a model prepared and calibrated by PyTorch converts to its graph and integers", "[passes][imported][golden]") {
  std::string folder = getFolder(GENERATE(as<std::string>(), "Convolutions", "Sequence", "Standalone", "Recurrent"));
  INFO(folder);
  GraphModule prepared = require(loadModel(folder + "/prepared.qfx"));
  TestContext context("native");
  // PyTorch wants the class that an observed custom module becomes at convert, too.
  context.context.customConfig.convert.setObservedToQuantizedMapping(OperatorName::resolve("torch.ao.nn.quantizable.LSTM"),
                                                                     OperatorName::resolve("torch.ao.nn.quantized.LSTM"));
  GraphModule reference = require(convertToReferenceFx(prepared.clone(), context.context));
  CHECK(formatFx(reference.getGraph()) == readText(folder + "/reference.txt"));
  GraphModule converted = require(convertFx(prepared.clone(), context.context));
  CHECK(formatFx(converted.getGraph()) == readText(folder + "/converted.txt"));
  checkCodes(converted, folder);
}

TEST_CASE("a QAT-trained model of PyTorch converts to its graph and numbers", "[passes][imported][golden]") {
  std::string folder = getFolder(GENERATE(as<std::string>(), "Convolutions", "Sequence"));
  INFO(folder);
  TestContext context("native");
  GraphModule converted = require(convertFx(require(loadModel(folder + "/qat.qfx")), context.context));
  CHECK(formatFx(converted.getGraph()) == readText(folder + "/qat.txt"));
  checkFloats(converted, folder, find(loadTensors(folder + "/expected.safetensors"), "qat_output"));
}

TEST_CASE("a reference model of PyTorch lowers to its converted graph", "[passes][imported][golden]") {
  std::string folder = getFolder(GENERATE(as<std::string>(), "Convolutions", "Sequence", "Standalone", "Recurrent"));
  INFO(folder);
  GraphModule reference = require(loadModel(folder + "/reference.qfx"));
  CHECK(formatFx(reference.getGraph()) == readText(folder + "/reference.txt"));
  TestContext context("native");
  CHECK(describe(lower(reference, context.context)) == "");
  CHECK(formatFx(reference.getGraph()) == readText(folder + "/converted.txt"));
  checkCodes(reference, folder);
}

TEST_CASE("a converted model of PyTorch runs to its integers", "[passes][imported][golden]") {
  std::string folder = getFolder(GENERATE(as<std::string>(), "Convolutions", "Sequence", "Standalone", "Recurrent"));
  INFO(folder);
  GraphModule converted = require(loadModel(folder + "/converted.qfx"));
  CHECK(formatFx(converted.getGraph()) == readText(folder + "/converted.txt"));
  checkCodes(converted, folder);
}

TEST_CASE("eager models of PyTorch, observed or converted, give its numbers", "[passes][imported][eager][golden]") {
  std::string folder = getFolder("Eager");
  Tensor expected = find(loadTensors(folder + "/expected.safetensors"), "output");
  TestContext context("native");
  GraphModule prepared = require(loadModel(folder + "/prepared.qfx"));
  checkFloats(require(convertEager(std::move(prepared), {}, context.context)), folder, expected);
  checkFloats(require(loadModel(folder + "/converted.qfx")), folder, expected);
}
