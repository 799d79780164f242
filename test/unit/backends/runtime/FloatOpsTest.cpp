// Float operators in every spelling against PyTorch (make_float_ops.py, make_float_layers.py, make_writes.py): relative to the largest magnitude 1e-5 (operators 1.1, T2), half floats
// one step of their own; doubles, integers and bools exactly; one, two and three threads give the same bits.
#include "Catch.h"
#include "GoldenCases.h"
#include "ir/text/QfxText.h"
#include "ir/weights/Safetensors.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

using namespace qfx;
using namespace qfx::test;

namespace {

struct FloatOp {
  std::string name, text;
};

std::vector<FloatOp> readCases(const std::string &set) {
  std::ifstream file(QFX_GOLDEN_DIR "/" + set + "/cases.txt");
  REQUIRE(file);
  std::vector<FloatOp> cases;
  const std::string mark = "// ----- ";
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, mark.size(), mark) == 0)
      cases.push_back({line.substr(mark.size()), ""});
    else
      cases.back().text += line + "\n";
  }
  return cases;
}

SafetensorsFile openValues(const std::string &set) {
  auto opened = SafetensorsFile::open(QFX_GOLDEN_DIR "/" + set + "/values.safetensors");
  if (!opened)
    FAIL(toText(opened.takeError()));
  return std::move(*opened);
}

NamedTensors getTensors(const SafetensorsFile &values, const std::string &prefix) {
  NamedTensors tensors;
  for (const std::string &key : values.getKeys())
    if (key.compare(0, prefix.size(), prefix) == 0) {
      auto tensor = values.read(key);
      if (!tensor)
        FAIL(toText(tensor.takeError()));
      tensors.push_back({key.substr(prefix.size()), *tensor});
    }
  return tensors;
}

std::vector<NamedValue> run(const SafetensorsFile &values, const FloatOp &op, int threads) {
  auto model = parseQfx(std::make_shared<SourceText>(SourceText{op.name, op.text}));
  if (!model)
    FAIL(toText(model.takeError()));
  ProgramOptions options;
  options.threads = threads;
  auto program = Program::compile(*model, options);
  if (!program)
    FAIL(toText(program.takeError()));
  auto outputs = (*program)->run(getTensors(values, op.name + "/in/"));
  if (!outputs)
    FAIL(toText(outputs.takeError()));
  return std::move(*outputs);
}

void compare(const Tensor &actual, const Tensor &expected) {
  REQUIRE(actual.getSizes() == expected.getSizes());
  REQUIRE(actual.getDType() == expected.getDType());
  double largest = 0, worst = 0;
  bool agree = true;
  for (int64_t i = 0; i < expected.getNumElements(); ++i) {
    double a = actual.getElementAsDouble(i), e = expected.getElementAsDouble(i);
    if (!std::isfinite(e) || !std::isfinite(a)) {
      agree &= (std::isnan(a) && std::isnan(e)) || a == e;
      continue;
    }
    largest = std::max(largest, std::abs(e));
    worst = std::max(worst, std::abs(a - e));
  }
  double step = expected.getDType() == DType::Float16 ? 0x1p-10 : expected.getDType() == DType::BFloat16 ? 0x1p-7 : expected.getDType() == DType::Float64 ? 0 : 1e-5;
  CHECK(agree);
  CHECK(worst <= (isFloat(expected.getDType()) ? step * largest : 0));
}

} // namespace

/// \param atLeast  cases that the set must hold.
static void checkSet(const std::string &set, size_t atLeast) {
  static std::map<std::string, SafetensorsFile> files;
  auto entry = files.find(set);
  if (entry == files.end())
    entry = files.emplace(set, openValues(set)).first;
  const SafetensorsFile &values = entry->second;
  std::vector<FloatOp> cases = readCases(set);
  REQUIRE(cases.size() >= atLeast);
  for (const FloatOp &op : cases)
    DYNAMIC_SECTION(op.name) {
      INFO(op.text);
      std::vector<NamedValue> outputs = run(values, op, 1);
      NamedTensors expected = getTensors(values, op.name + "/out/");
      size_t tensors = 0;
      for (const NamedValue &output : outputs) {
        if (!output.value.isTensor())
          continue;
        ++tensors;
        auto it = std::find_if(expected.begin(), expected.end(), [&](const auto &e) { return e.first == output.name; });
        REQUIRE(it != expected.end());
        compare(output.value.tensor, it->second);
      }
      CHECK(tensors == expected.size());
      for (int threads : {2, 3}) {
        std::vector<NamedValue> more = run(values, op, threads);
        for (size_t i = 0; i < outputs.size(); ++i)
          if (outputs[i].value.isTensor())
            CHECK(more[i].value.tensor.equals(outputs[i].value.tensor));
      }
    }
}

TEST_CASE("float operators give PyTorch's values in every spelling", "[runtime][golden][float-ops]") {
  checkSet("float_ops", 600);
}

TEST_CASE("modules with children, functions of torchvision and writes into slices give PyTorch's values",
          "[runtime][golden][float-ops][float-layers]") {
  checkSet("float_layers", 50);
}

TEST_CASE("setitem, copy_, numbers of tensors and codes of integers give PyTorch's values", "[runtime][golden][writes]") {
  checkSet("writes", 200);
}
