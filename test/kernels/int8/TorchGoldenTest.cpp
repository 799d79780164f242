// Quantized linear and convolution against PyTorch's own codes (test/golden/int8_kernels), engines x86 and qnnpack.
#include "Catch.h"
#include "kernels/int8/Int8Cases.h"
#include "kernels/int8/TestedRows.h"

#include <fstream>
#include <sstream>
#include <string>

using namespace qfx::kernels;
using namespace qfx::test;

namespace {
std::vector<uint8_t> parseBytes(const std::string &text) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

template <class T> std::vector<T> parseFloats(const std::string &text) {
  std::vector<T> values;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    values.push_back(static_cast<T>(std::strtod(word.c_str(), nullptr)));
  return values;
}

/// One case of the golden file.
struct GoldenCase {
  std::string title;
  ConvShape shape;
  int64_t batch = 0, in[3] = {};
  RequantSpec spec;
  std::vector<double> weightScale;
  std::vector<float> bias;
  std::vector<uint8_t> x, w, y;

  bool read(std::istream &file) {
    std::string line;
    while (std::getline(file, line) && line[0] == '#') {
    }
    if (!file)
      return false;
    title = line;
    std::istringstream words(line);
    std::string word, engine;
    words >> word >> engine >> spec.relu >> shape.inChannels >> shape.outChannels >> shape.groups;
    for (auto *axes : {&shape.kernel, &shape.stride, &shape.padding, &shape.dilation})
      for (int64_t &axis : *axes)
        words >> axis;
    words >> batch >> in[0] >> in[1] >> in[2] >> spec.perChannel;
    std::getline(file, line);
    std::istringstream scales(line);
    std::string xs, ys;
    scales >> xs >> spec.srcZeroPoint >> ys >> spec.dstZeroPoint;
    spec.srcScale = std::strtod(xs.c_str(), nullptr);
    spec.dstScale = std::strtod(ys.c_str(), nullptr);
    spec.stage = engine == "qnnpack" ? OutputStage::Q : OutputStage::F;
    spec.channels = shape.outChannels;
    spec.depth = shape.reduction();
    std::getline(file, line);
    weightScale = parseFloats<double>(line);
    std::getline(file, line);
    bias = line == "none" ? std::vector<float>() : parseFloats<float>(line);
    for (std::vector<uint8_t> *bytes : {&x, &w, &y}) {
      std::getline(file, line);
      *bytes = parseBytes(line);
    }
    spec.weightScale = weightScale.data();
    spec.bias = bias.empty() ? nullptr : bias.data();
    return true;
  }
};

std::vector<uint8_t> runConvCase(const GoldenCase &golden, const ConvKernels &kernels) {
  Memory memory(getPackedConvBytes(golden.shape, kernels)), tables(getRequantBytes(golden.shape.outChannels));
  PackedConv packed =
      packConv(golden.shape, kernels, reinterpret_cast<const int8_t *>(golden.w.data()), memory.data());
  RequantParams params = prepareRequant(golden.spec, packed.weightSum, tables.data());
  ConvPlan plan = planConv(packed, golden.batch, golden.in, 1);
  Memory scratch(getConvScratchBytes(plan));
  std::vector<uint8_t> y(golden.y.size());
  runConv(plan, params, TileOutput::Code, golden.spec.srcZeroPoint, golden.x.data(), golden.shape.inChannels, y.data(),
          golden.shape.outChannels, scratch.data(), 0, plan.units());
  return y;
}
} // namespace

TEST_CASE("int8 linear and convolution give PyTorch's codes", "[golden]") {
  std::ifstream file(std::string(QFX_GOLDEN_DIR) + "/int8_kernels/int8_kernels.txt");
  REQUIRE(file);
  int cases = 0;
  for (GoldenCase golden; golden.read(file); golden = GoldenCase(), ++cases)
    for (const ConvKernels &kernels : getTestedRows()) {
      INFO(kernels.gemm->name << " " << golden.title);
      CHECK(runConvCase(golden, kernels) == golden.y);
    }
  CHECK(cases == 32);
}
