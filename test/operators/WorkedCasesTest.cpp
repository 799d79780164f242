// The worked cases of the operator specification, section 26.
#include "QuantizedCases.h"

#include "Catch.h"
#include "ir/text/QfxText.h"

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
