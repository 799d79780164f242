// PyTorch's own numbers: quantized elementwise, tables, pooling, batch norm, quantize, histc (make_elementwise.py).
#include "kernels/elementwise/CodeLut.h"
#include "kernels/elementwise/QuantizedBatchNorm.h"
#include "kernels/elementwise/QuantizedBinary.h"
#include "kernels/histogram/Histogram.h"
#include "kernels/pool/Pool.h"
#include "kernels/quantize/Quantize.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>

using namespace qfx::kernels;

namespace {

/// One case of elementwise.txt: numbers and codes by key.
struct Case {
  std::string name;
  std::map<std::string, std::vector<double>> numbers;
  std::map<std::string, std::vector<uint8_t>> codes;

  double param(size_t i) const { return numbers.at("params").at(i); }
  bool flag(size_t i) const { return param(i) != 0; }
  int integer(size_t i) const { return static_cast<int>(param(i)); }
  QParams qparams(size_t i) const { return {param(i), integer(i + 1)}; }
  CodeType type() const { return flag(0) ? CodeType::S8 : CodeType::U8; }
  std::vector<float> floats(const std::string &key) const { return {numbers.at(key).begin(), numbers.at(key).end()}; }
};

std::vector<Case> readCases(const std::string &name) {
  std::ifstream file(std::string(QFX_GOLDEN_DIR) + "/elementwise.txt");
  std::vector<Case> cases;
  Case current;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::string key, count;
    in >> key;
    if (key == "case") {
      current = Case();
      in >> current.name;
    } else if (key == "end") {
      if (current.name == name)
        cases.push_back(current);
    } else if (!key.empty() && key != "#") {
      in >> count;
      if (count == "hex") {
        std::string hex;
        in >> hex;
        for (size_t i = 0; i + 1 < hex.size(); i += 2)
          current.codes[key].push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
      } else
        for (std::string word; in >> word;)
          current.numbers[key].push_back(std::stod(word));
    }
  }
  REQUIRE(!cases.empty());
  return cases;
}

const int8_t *asSigned(const uint8_t *p) { return reinterpret_cast<const int8_t *>(p); }
int8_t *asSigned(uint8_t *p) { return reinterpret_cast<int8_t *>(p); }

std::vector<uint8_t> allBytes() {
  std::vector<uint8_t> bytes(256);
  for (int i = 0; i < 256; ++i)
    bytes[i] = static_cast<uint8_t>(i);
  return bytes;
}

/// Number of codes that differ, where `except` does not say that they may (by one).
int countDifferent(const std::vector<uint8_t> &a, const std::vector<uint8_t> &b, const std::vector<bool> &except = {}) {
  REQUIRE(a.size() == b.size());
  int count = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    bool excused = !except.empty() && except[i] && std::abs(static_cast<int8_t>(a[i] - b[i])) == 1;
    count += a[i] != b[i] && !excused;
  }
  return count;
}

void checkTable(const Case &c, const CodeLut &lut) {
  std::vector<uint8_t> bytes = allBytes(), got(256);
  selectCodeMap().applyLut(bytes.data(), got.data(), 256, lut);
  INFO(c.name << " scale " << c.param(1) << " zero point " << c.param(2));
  CHECK(countDifferent(got, c.codes.at("out")) == 0);
}

/// A 2-d pooling's geometry; 32 channels, 6 x 7 positions.
PoolShape poolShape(int64_t outH, int64_t outW) {
  PoolShape shape;
  shape.channels = 32;
  shape.in[1] = 6;
  shape.in[2] = 7;
  shape.out[1] = outH;
  shape.out[2] = outW;
  return shape;
}

std::vector<uint8_t> runAverage(const Case &c, const PoolShape &shape, MemoryFormat format) {
  std::vector<uint8_t> out(shape.numOutputPixels() * shape.channels);
  const uint8_t *in = c.codes.at("a").data();
  if (c.flag(0))
    avgPool(selectPool(), shape, c.integer(1), format, asSigned(in), asSigned(out.data()), 0, shape.numOutputPixels());
  else
    avgPool(selectPool(), shape, c.integer(1), format, in, out.data(), 0, shape.numOutputPixels());
  return out;
}

/// Whether the exact mean lies halfway between two codes, per output of an adaptive pooling.
std::vector<bool> ties(const Case &c, const PoolShape &shape) {
  const std::vector<uint8_t> &in = c.codes.at("a");
  std::vector<bool> result;
  for (int64_t h = 0; h < shape.out[1]; ++h)
    for (int64_t w = 0; w < shape.out[2]; ++w)
      for (int64_t channel = 0; channel < shape.channels; ++channel) {
        const PoolWindow rows = getPoolWindow(shape, 1, h), columns = getPoolWindow(shape, 2, w);
        int sum = 0, n = static_cast<int>(rows.count * columns.count);
        for (int64_t y = rows.start; y < rows.start + rows.count; ++y)
          for (int64_t x = columns.start; x < columns.start + columns.count; ++x) {
            uint8_t byte = in[(y * shape.in[2] + x) * shape.channels + channel];
            sum += c.flag(0) ? static_cast<int8_t>(byte) : byte;
          }
        result.push_back(std::abs(2 * sum) % (2 * n) == n);
      }
  return result;
}

} // namespace

TEST_CASE("golden: quantized add and mul", "[float][golden]") {
  const QuantizedBinaryKernels &kernels = selectQuantizedBinary();
  for (const char *name : {"add", "add_relu", "mul", "mul_relu"})
    for (const Case &c : readCases(name)) {
      const bool relu = c.name.size() > 3;
      const std::vector<uint8_t> &a = c.codes.at("a"), &b = c.codes.at("b");
      std::vector<uint8_t> got(a.size());
      const int64_t n = static_cast<int64_t>(a.size());
      if (c.name[0] == 'a') {
        QuantizedAddParams params = makeQuantizedAddParams(c.qparams(1), c.qparams(3), c.qparams(5), relu);
        if (c.flag(0))
          kernels.addS8(asSigned(a.data()), 1, asSigned(b.data()), 1, asSigned(got.data()), n, params);
        else
          kernels.addU8(a.data(), 1, b.data(), 1, got.data(), n, params);
      } else {
        QuantizedMulParams params = makeQuantizedMulParams(c.qparams(1), c.qparams(3), c.qparams(5), relu);
        if (c.flag(0))
          kernels.mulS8(asSigned(a.data()), 1, asSigned(b.data()), 1, asSigned(got.data()), n, params);
        else
          kernels.mulU8(a.data(), 1, b.data(), 1, got.data(), n, params);
      }
      INFO(name);
      CHECK(countDifferent(got, c.codes.at("out")) == 0);
    }
}

TEST_CASE("golden: quantized activations as tables", "[float][golden]") {
  const std::pair<const char *, UnaryKind> kinds[] = {
      {"Sigmoid", UnaryKind::Sigmoid},     {"Tanh", UnaryKind::Tanh}, {"Hardsigmoid", UnaryKind::Hardsigmoid},
      {"Hardswish", UnaryKind::Hardswish}, {"Elu", UnaryKind::Elu},   {"LeakyRelu", UnaryKind::LeakyRelu},
      {"Threshold", UnaryKind::Threshold}, {"Gelu", UnaryKind::Gelu}};
  for (auto [name, kind] : kinds)
    for (const Case &c : readCases(name)) {
      const std::vector<double> &p = c.numbers.at("params");
      UnaryParams params;
      float *fields[] = {&params.a, &params.b, &params.c};
      for (size_t i = 5; i < p.size(); ++i)
        *fields[i - 5] = static_cast<float>(p[i]);
      CodeLut lut;
      buildUnaryLut(kind, params, c.type(), c.qparams(1), c.type(), c.qparams(3), lut);
      checkTable(c, lut);
    }
}

TEST_CASE("golden: relu, hardtanh, relu6 on codes", "[float][golden]") {
  for (const char *name : {"Relu", "Clamp"})
    for (const Case &c : readCases(name)) {
      const QParams params = c.qparams(1);
      const bool relu = c.name == "Relu";
      const int32_t top = c.flag(0) ? 127 : 255;
      const int32_t lo = relu ? params.zeroPoint : quantizeValue(static_cast<float>(c.param(5)), c.type(), params);
      const int32_t hi = relu ? top : quantizeValue(static_cast<float>(c.param(6)), c.type(), params);
      std::vector<uint8_t> bytes = allBytes(), got(256);
      if (c.flag(0))
        selectCodeMap().clampS8(asSigned(bytes.data()), asSigned(got.data()), 256, static_cast<int8_t>(lo),
                                static_cast<int8_t>(hi));
      else
        selectCodeMap().clampU8(bytes.data(), got.data(), 256, static_cast<uint8_t>(lo), static_cast<uint8_t>(hi));
      INFO(name);
      CHECK(countDifferent(got, c.codes.at("out")) == 0);
    }
}

TEST_CASE("golden: add_scalar, mul_scalar, cat", "[float][golden]") {
  for (const char *name : {"add_scalar", "add_scalar_relu", "mul_scalar", "mul_scalar_relu"})
    for (const Case &c : readCases(name)) {
      CodeLut lut;
      QParams out;
      const bool relu = c.name.size() > 10;
      if (c.name[0] == 'a')
        buildAddScalarLut(c.type(), c.qparams(1), c.param(5), relu, out, lut);
      else
        buildMulScalarLut(c.type(), c.qparams(1), c.param(5), relu, out, lut);
      CHECK(out.scale == c.param(3));
      CHECK(out.zeroPoint == c.integer(4));
      checkTable(c, lut);
    }
  for (const Case &c : readCases("cat")) {
    CodeLut lut;
    buildRequantizeLut(DequantizeRule::Exact, c.type(), c.qparams(1), c.type(), c.qparams(3), c.flag(5), lut);
    checkTable(c, lut);
  }
}

TEST_CASE("golden: average and max pooling of codes in both memory formats", "[float][golden]") {
  for (const char *name : {"avg_pool2d", "max_pool2d"})
    for (const Case &c : readCases(name)) {
      PoolShape shape = poolShape(c.integer(9), c.integer(10));
      for (int d = 1; d < 3; ++d) {
        shape.kernel[d] = c.integer(3);
        shape.stride[d] = c.integer(4);
        shape.padding[d] = c.integer(5);
        CHECK(shape.out[d] ==
              getPooledSize(shape.in[d], shape.kernel[d], shape.stride[d], shape.padding[d], 1, c.flag(6)));
      }
      shape.countIncludePad = c.flag(7);
      shape.divisorOverride = c.integer(8);
      std::vector<uint8_t> got;
      if (c.name[0] == 'a')
        got = runAverage(c, shape, c.flag(2) ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous);
      else {
        got.resize(shape.numOutputPixels() * shape.channels);
        const uint8_t *in = c.codes.at("a").data();
        if (c.flag(0))
          maxPool(selectPool(), shape, asSigned(in), asSigned(got.data()), 0, shape.numOutputPixels());
        else
          maxPool(selectPool(), shape, in, got.data(), 0, shape.numOutputPixels());
      }
      INFO(name << " signed " << c.param(0) << " channels_last " << c.param(2));
      CHECK(countDifferent(got, c.codes.at("out")) == 0);
    }
}

TEST_CASE("golden: adaptive pooling and mean of codes", "[float][golden]") {
  for (const Case &c : readCases("adaptive_avg_pool2d")) {
    PoolShape shape = poolShape(c.integer(3), c.integer(4));
    shape.adaptive = true;
    INFO("signed " << c.param(0) << " channels_last " << c.param(2) << " to " << c.param(3) << "x" << c.param(4));
    // quint8: 2.13 rounds as Contiguous in both formats (Pool.h); qint8 in channels_last: ties depend on a contraction
    CHECK(countDifferent(runAverage(c, shape, MemoryFormat::Contiguous), c.codes.at("out"), ties(c, shape)) == 0);
    if (!c.flag(0) || !c.flag(2))
      CHECK(countDifferent(runAverage(c, shape, MemoryFormat::Contiguous), c.codes.at("out")) == 0);
    CHECK(countDifferent(runAverage(c, shape, MemoryFormat::ChannelsLast), c.codes.at("out"), ties(c, shape)) == 0);
  }
  for (const Case &c : readCases("mean")) {
    std::vector<uint8_t> got(32);
    const uint8_t *in = c.codes.at("a").data();
    const MemoryFormat format = c.flag(3) ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
    if (c.flag(0))
      meanPositions(selectPool(), 1, 42, 32, c.qparams(1), format, asSigned(in), asSigned(got.data()));
    else
      meanPositions(selectPool(), 1, 42, 32, c.qparams(1), format, in, got.data());
    INFO("signed " << c.param(0) << " channels_last " << c.param(3));
    CHECK(countDifferent(got, c.codes.at("out")) == 0);
  }
}

TEST_CASE("golden: quantized batch norm", "[float][golden]") {
  for (const Case &c : readCases("batch_norm")) {
    std::vector<float> weight = c.floats("weight"), bias = c.floats("bias"), mean = c.floats("mean"),
                       var = c.floats("var");
    std::vector<float> alpha(64), beta(64);
    foldQuantizedBatchNorm(64, weight.data(), bias.data(), mean.data(), var.data(), 1e-5f, c.qparams(1), c.qparams(3),
                           alpha.data(), beta.data());
    const std::vector<uint8_t> &in = c.codes.at("a");
    std::vector<uint8_t> got(in.size());
    const QuantizedBatchNormParams params = {c.integer(2), c.integer(4), c.flag(5)};
    const QuantizedBatchNormKernels &kernels = selectQuantizedBatchNorm();
    for (size_t p = 0; p < in.size(); p += 64)
      if (c.flag(0))
        kernels.rowS8(asSigned(&in[p]), asSigned(&got[p]), 64, alpha.data(), beta.data(), params);
      else
        kernels.rowU8(&in[p], &got[p], 64, alpha.data(), beta.data(), params);
    INFO("signed " << c.param(0) << " relu " << c.param(5));
    CHECK(countDifferent(got, c.codes.at("out")) == 0);
  }
}

TEST_CASE("golden: quantize and dequantize", "[float][golden]") {
  for (const Case &c : readCases("quantize")) {
    std::vector<float> x = c.floats("x"), real(x.size());
    std::vector<uint8_t> got(x.size());
    const int64_t n = static_cast<int64_t>(x.size());
    const QuantizeKernels &kernels = selectQuantize();
    if (c.flag(0)) {
      kernels.quantizeS8(x.data(), asSigned(got.data()), n, c.qparams(1));
      kernels.dequantizeS8(asSigned(got.data()), real.data(), n, c.qparams(1));
    } else {
      kernels.quantizeU8(x.data(), got.data(), n, c.qparams(1));
      kernels.dequantizeU8(got.data(), real.data(), n, c.qparams(1));
    }
    CHECK(countDifferent(got, c.codes.at("out")) == 0);
    CHECK((real == c.floats("real")));
  }
}

TEST_CASE("golden: histc", "[float][golden]") {
  for (const Case &c : readCases("histc")) {
    std::vector<float> x = c.floats("x"), got(256);
    std::vector<uint32_t> scratch(getHistogramScratchSize(256));
    addHistogram(selectHistogram(), x.data(), static_cast<int64_t>(x.size()), static_cast<float>(c.param(1)),
                 static_cast<float>(c.param(2)), 256, got.data(), scratch.data());
    CHECK((got == c.floats("out")));
    MinMax range = selectHistogram().minMax(x.data(), static_cast<int64_t>(x.size()));
    CHECK(range.min == static_cast<float>(c.param(1)));
    CHECK(range.max == static_cast<float>(c.param(2)));
  }
}
