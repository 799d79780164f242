// The worked cases of the operator specification, section 26.
#include "QuantizedCases.h"

#include "Catch.h"
#include "ir/text/QfxText.h"
#include "kernels/embedding/Embedding.h"

#include <cmath>
#include <fstream>
#include <sstream>

using namespace qfx;
using namespace qfx::test;

static const char *const kDeclarations = R"(
buffer X : quint8[2, 3]{scale=0.1, zero_point=10} = [[12, 0, 255], [7, 9, 11]]
buffer Wt : qint8[2, 3]{scale=0.05, zero_point=0} = [[1, -2, 3], [127, 0, -128]]
buffer B : f32[2] = [0.1, -0.2]
buffer x03 : quint8[4, 1]{scale=0.1, zero_point=10} = [[10], [11], [12], [13]]
buffer w03 : qint8[1, 1]{scale=0.1, zero_point=0} = [[1]]
buffer b03 : f32[1] = [0.004]
buffer w04 : qint8[2, 3]{axis=0, scales=[0.05, 0.01], zero_points=[0, 0]} = [[1, -2, 3], [127, 0, -128]]
buffer w05 : qint8[2, 3]{scale=0.05, zero_point=2} = [[1, -2, 3], [127, 0, -128]]
buffer x06 : quint8[7, 1]{scale=0.5, zero_point=3} = [[0], [1], [2], [3], [4], [5], [6]]
buffer w06 : qint8[1, 1]{scale=1.0, zero_point=0} = [[1]]
buffer A : quint8[1, 1, 3, 3]{scale=0.1, zero_point=40} = [[[[10, 20, 30], [40, 50, 60], [70, 80, 90]]]]
buffer K : qint8[1, 1, 2, 2]{scale=0.2, zero_point=0} = [[[[1, 0], [-1, 2]]]]
buffer b07 : f32[1] = [0.3]
buffer B2 : quint8[1, 2, 2, 2]{scale=0.1, zero_point=40} = [[[[10, 20], [30, 40]], [[50, 60], [70, 80]]]]
buffer w10 : qint8[2, 1, 2, 2]{axis=0, scales=[0.1, 0.3], zero_points=[0, 0]} = [[[[1, 2], [3, 4]]], [[[-1, 0], [0, 1]]]]
buffer b10 : f32[2] = [0.05, -0.05]
buffer x11 : quint8[1, 4, 1, 1]{scale=1.0, zero_point=0} = [[[[1]], [[2]], [[3]], [[4]]]]
buffer w11 : qint8[2, 2, 1, 1]{scale=0.5, zero_point=0} = [[[[1]], [[-1]]], [[[2]], [[5]]]]
buffer x12 : quint8[1, 1, 4]{scale=0.5, zero_point=2} = [[[1, 2, 3, 4]]]
buffer w12 : qint8[1, 1, 3]{scale=0.5, zero_point=0} = [[[1, -1, 2]]]
buffer b12 : f32[1] = [0.25]
buffer x13 : quint8[1, 1, 2, 2, 2]{scale=0.5, zero_point=2} = [[[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]]]
buffer w13 : qint8[1, 1, 2, 2, 2]{scale=0.5, zero_point=0} = [[[[[1, 1], [1, 1]], [[1, 1], [1, -1]]]]]
buffer x14 : quint8[1, 1, 2, 2]{scale=0.1, zero_point=10} = [[[[10, 20], [30, 40]]]]
buffer w14 : qint8[1, 1, 2, 2]{scale=0.1, zero_point=0} = [[[[1, 2], [3, 4]]]]
buffer b14 : f32[1] = [0.5]
buffer w15 : qint8[1, 1, 3, 3]{scale=0.1, zero_point=0} = [[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]]
buffer x16 : quint8[1, 1, 3]{scale=0.1, zero_point=10} = [[[10, 20, 30]]]
buffer w16 : qint8[1, 1, 2]{scale=0.1, zero_point=0} = [[[1, -1]]]
buffer P : quint8[1, 3]{scale=0.1, zero_point=100} = [[0, 100, 255]]
buffer R : quint8[1, 3]{scale=0.05, zero_point=60} = [[50, 60, 70]]
buffer x21a : quint8[2, 3]{scale=0.05, zero_point=100} = [[0, 10, 50], [128, 200, 255]]
buffer x21b : quint8[1, 3]{scale=0.1, zero_point=0} = [[1, 2, 3]]
buffer V : quint8[1, 6]{scale=0.05, zero_point=100} = [[0, 10, 50, 128, 200, 255]]
buffer c1 : quint8[1, 2]{scale=0.1, zero_point=0} = [[1, 2]]
buffer c2 : quint8[1, 2]{scale=0.2, zero_point=5} = [[1, 2]]
buffer s36 : qint8[1, 5]{scale=0.05, zero_point=0} = [[-100, -10, 0, 10, 100]]
buffer slope : quint8[1]{scale=0.05, zero_point=0} = [20]
buffer M : quint8[1, 1, 3, 3]{scale=0.1, zero_point=7} = [[[[10, 20, 30], [40, 55, 60], [70, 80, 91]]]]
buffer D : quint8[1, 2, 2, 2]{scale=0.1, zero_point=1} = [[[[1, 2], [1, 2]], [[2, 3], [2, 3]]]]
buffer x56 : quint8[3, 2]{scale=0.1, zero_point=1} = [[1, 2], [2, 3], [3, 4]]
buffer x57 : quint8[2, 3]{scale=0.1, zero_point=1} = [[1, 2, 3], [2, 3, 4]]
buffer x61 : quint8[1, 2]{scale=0.1, zero_point=7} = [[1, 2]]
buffer bw : f32[2] = [1.5, -0.5]
buffer bb : f32[2] = [0.2, 0.1]
buffer bm : f32[2] = [0.5, 1.0]
buffer bv : f32[2] = [4.0, 0.25]
buffer x64 : quint8[1, 4]{scale=0.1, zero_point=20} = [[10, 20, 30, 60]]
buffer lw : f32[4] = [1.0, 2.0, 1.0, 0.5]
buffer lb : f32[4] = [0.0, 0.0, 0.5, 0.0]
buffer gw : f32[2] = [1.0, 2.0]
buffer gb : f32[2] = [0.0, 0.5]
buffer x67a : quint8[2, 2]{scale=0.5, zero_point=1} = [[1, 2], [3, 4]]
buffer x67b : quint8[2, 2]{scale=0.25, zero_point=6} = [[5, 6], [7, 8]]
buffer x68 : f32[9] = [-1.0, -0.75, -0.25, 0.25, 0.75, 1.25, 1.75, 200.0, -200.0]
buffer x69 : f32[1] = [0.273939937]
)";

/// Prepack calls by the name of their result.
static const std::pair<const char *, const char *> kPacked[] = {
    {"pWtB", "linear_prepack](%Wt, %B)"},
    {"p03", "linear_prepack](%w03, %b03)"},
    {"p04", "linear_prepack](%w04, %B)"},
    {"p05", "linear_prepack](%w05, %B)"},
    {"p06", "linear_prepack](%w06, None)"},
    {"p07", "conv2d_prepack](%K, %b07, [1, 1], [1, 1], [1, 1], 1)"},
    {"p08", "conv2d_prepack](%K, None, [2, 2], [1, 1], [1, 1], 1)"},
    {"p09", "conv2d_prepack](%K, None, [1, 1], [0, 0], [2, 2], 1)"},
    {"p10", "conv2d_prepack](%w10, %b10, [1, 1], [0, 0], [1, 1], 2)"},
    {"p11", "conv2d_prepack](%w11, None, [1, 1], [0, 0], [1, 1], 2)"},
    {"p12", "conv1d_prepack](%w12, %b12, [1], [1], [1], 1)"},
    {"p13", "conv3d_prepack](%w13, None, [1, 1, 1], [0, 0, 0], [1, 1, 1], 1)"},
    {"p14", "conv_transpose2d_prepack](%w14, %b14, [2, 2], [0, 0], [0, 0], [1, 1], 1)"},
    {"p15", "conv_transpose2d_prepack](%w15, None, [2, 2], [1, 1], [1, 1], [1, 1], 1)"},
    {"p16", "conv_transpose1d_prepack](%w16, None, [1], [0], [0], [1], 1)"},
};

/// The whole model of one call: only what it reads, so that an error is its own.
static std::string makeText(const std::string &call) {
  std::string text = "qfx 1\n", nodes;
  std::string reads = call;
  for (auto [name, prepack] : kPacked)
    if (call.find("%" + std::string(name) + ",") != std::string::npos) {
      nodes = "  %" + std::string(name) + " = call_function[torch.ops.quantized." + prepack + "\n";
      reads += nodes;
    }
  std::istringstream declarations(kDeclarations);
  std::string gets;
  for (std::string line; std::getline(declarations, line);) {
    if (line.empty())
      continue;
    const std::string name = line.substr(7, line.find(' ', 7) - 7);
    bool isRead = false;
    for (const char *end : {",", ")", "]"})
      isRead |= reads.find("%" + name + end) != std::string::npos;
    if (name == "D")
      isRead |= call.find("%DL,") != std::string::npos;
    if (!isRead)
      continue;
    text += line + "\n";
    gets += "  %" + name + " = get_attr[" + name + "]()\n";
  }
  if (call.find("%DL,") != std::string::npos)
    nodes += "  %DL = call_method[contiguous](%D, memory_format=torch.channels_last)\n";
  return text + "graph() {\n" + gets + nodes + "  %y = " + call + "\n  return %y\n}\n";
}

static void checkCase(const std::string &call, const std::string &engine, const std::vector<double> &codes,
                      double scale, int64_t zeroPoint) {
  auto model = parseQfx(std::make_shared<SourceText>(SourceText{"worked", makeText(call)}));
  if (!model) {
    FAIL_CHECK(toText(model.takeError()));
    return;
  }
  ProgramOptions options;
  options.engine = engine;
  auto program = Program::compile(*model, options);
  if (!program) {
    FAIL_CHECK(toText(program.takeError()));
    return;
  }
  auto results = (*program)->run(llvm::ArrayRef<Tensor>());
  if (!results) {
    FAIL_CHECK(toText(results.takeError()));
    return;
  }
  const Tensor &result = (*results)[0].value.tensor;
  REQUIRE(result.getQuantizer());
  CHECK(std::abs(result.getQuantizer()->getScale() - scale) <= 1e-7 * scale);
  CHECK(result.getQuantizer()->getZeroPoint() == zeroPoint);
  std::vector<double> actual;
  for (int64_t i = 0; i < result.getNumElements(); ++i)
    actual.push_back(result.getElementAsDouble(i));
  CHECK(actual == codes);
}

TEST_CASE("worked cases of the specification", "[quantized][worked]") {
  std::ifstream file(std::string(QFX_SOURCE_DIR) + "/test/operators/worked_cases.txt");
  REQUIRE(file);
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    std::vector<std::string> fields;
    std::istringstream parts(line);
    for (std::string field; std::getline(parts, field, ';');)
      fields.push_back(field);
    REQUIRE(fields.size() == 6);
    std::istringstream numbers(fields[3]);
    std::vector<double> codes;
    for (double code; numbers >> code;)
      codes.push_back(code);
    for (const char *engine : {"x86", "fbgemm", "onednn", "qnnpack"}) {
      const bool isQ = std::string(engine) == "qnnpack";
      if ((fields[1] == "F" && isQ) || (fields[1] == "Q" && !isQ))
        continue;
      INFO(fields[0] << " " << engine << ": " << fields[2]);
      checkCase(fields[2], engine, codes, std::stod(fields[4]), std::stoll(fields[5]));
      ++count;
    }
  }
  CHECK(count >= 200);
}

/// Runs a text without inputs; the elements of its only output.
static std::vector<double> runForNumbers(const std::string &text) {
  std::vector<double> numbers;
  auto model = parseQfx(std::make_shared<SourceText>(SourceText{"worked", "qfx 1\n" + text}));
  if (!model) {
    FAIL_CHECK(toText(model.takeError()));
    return numbers;
  }
  auto program = Program::compile(*model);
  if (!program) {
    FAIL_CHECK(toText(program.takeError()));
    return numbers;
  }
  auto results = (*program)->run(llvm::ArrayRef<Tensor>());
  if (!results) {
    FAIL_CHECK(toText(results.takeError()));
    return numbers;
  }
  const Tensor &result = (*results)[0].value.tensor;
  for (int64_t i = 0; i < result.getNumElements(); ++i)
    numbers.push_back(result.getElementAsDouble(i));
  return numbers;
}

static void checkClose(const std::vector<double> &actual, const std::vector<double> &expected) {
  REQUIRE(actual.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    CHECK(std::abs(actual[i] - expected[i]) <= 1e-6 * 8); // seven digits are printed
}

TEST_CASE("X70: quantize per channel", "[quantized][worked]") {
  CHECK(runForNumbers(R"(buffer x : f32[2, 2] = [[0.1, -0.25], [1.0, 2.5]]
buffer s : f32[2] = [0.1, 0.5]
buffer z : i64[2] = [0, 10]
graph() {
  %x = get_attr[x]()
  %s = get_attr[s]()
  %z = get_attr[z]()
  %q = call_function[torch.quantize_per_channel](%x, %s, %z, 0, torch.qint8)
  %y = call_method[int_repr](%q)
  return %y
})") == std::vector<double>{1, -2, 12, 15});
}

TEST_CASE("X73: a dynamic convolution is clipped to its input's range", "[quantized][worked]") {
  checkClose(runForNumbers(R"(buffer x : f32[1, 1, 2, 2] = [[[[0.0, 1.0], [2.0, -1.0]]]]
buffer w : qint8[1, 1, 2, 2]{scale=0.02, zero_point=0} = [[[[10, 20], [-30, 40]]]]
graph() {
  %x = get_attr[x]()
  %w = get_attr[w]()
  %p = call_function[torch.ops.quantized.conv2d_prepack](%w, None, [1, 1], [0, 0], [1, 1], 1)
  %y = call_function[torch.ops.quantized.conv2d_dynamic](%x, %p)
  return %y
})"),
             {-1.0});
}

TEST_CASE("X76, X77, X78: packed embedding rows", "[quantized][worked]") {
  const float table[2][4] = {{-1, 0, 1, 3}, {2, 2.5, 3, 4}};
  const kernels::PackedRows byte{8, 4}, nibble{4, 4};
  std::vector<uint8_t> bytes, nibbles;
  std::vector<double> unpacked;
  for (const auto &row : table) {
    std::vector<uint8_t> packed(static_cast<size_t>(byte.rowBytes()));
    kernels::packFloatRow(byte, row, packed.data());
    bytes.insert(bytes.end(), packed.begin(), packed.end());
    packed.assign(static_cast<size_t>(nibble.rowBytes()), 0);
    kernels::packFloatRow(nibble, row, packed.data());
    nibbles.insert(nibbles.end(), packed.begin(), packed.end());
    float values[4];
    kernels::unpackRow(nibble, packed.data(), values);
    unpacked.insert(unpacked.end(), values, values + 4);
  }
  CHECK(bytes == std::vector<uint8_t>{0, 64, 128, 255, 129, 128, 128, 60, 0, 0, 128, 191, 0, 64, 128, 255, 129, 128, 0, 60, 0, 0, 0, 64});
  CHECK(nibbles == std::vector<uint8_t>{64, 248, 68, 52, 0, 188, 64, 248, 68, 48, 0, 64});
  checkClose(unpacked, {-1.0, 0.06640625, 1.132812, 2.999023, 2.0, 2.533203, 3.066406, 3.999512});
}

TEST_CASE("X79, X80: bags of packed rows", "[quantized][worked]") {
  const std::string head = R"(buffer w : quint8[2, 4]{axis=0, scales=[0.01568627450980392, 0.00784313725490196], zero_points=[63.75, -255.0]} = [[0, 64, 128, 255], [0, 64, 127, 255]]
buffer i : i64[3] = [0, 1, 1]
buffer o : i64[2] = [0, 2]
buffer p : f32[3] = [1.0, 0.5, 2.0]
graph() {
  %w = get_attr[w]()
  %i = get_attr[i]()
  %o = get_attr[o]()
  %p = get_attr[p]()
  %t = call_function[torch.ops.quantized.embedding_bag_prepack](%w)
  %y = call_function[torch.ops.quantized.embedding_bag_byte](%t, %i, %o)";
  checkClose(runForNumbers(head + ")\n  return %y\n}"), {1.0, 2.505882, 4.003922, 7.0, 2.0, 2.501961, 2.996078, 4.0});
  checkClose(runForNumbers(head + ", per_sample_weights=%p)\n  return %y\n}"),
             {0.0, 1.254902, 2.505883, 5.0, 4.0, 5.003922, 5.992157, 8.0});
}
