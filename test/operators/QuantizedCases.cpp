// Reading, generating and comparing of the quantized golden cases.
#include "QuantizedCases.h"

#include "ir/Diagnostics.h"
#include "ir/text/QfxText.h"

#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

namespace qfx::test {

std::string toText(llvm::Error err) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Diagnostic &diagnostic : takeDiagnostics(std::move(err)))
    printDiagnostic(os, diagnostic);
  return os.str();
}

static std::string readFile(const std::string &name) {
  std::ifstream file(std::string(QFX_GOLDEN_DIR) + "/quantized/" + name, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

static std::vector<QuantizedCase::Generated> readGenerated(const nlohmann::json &list) {
  std::vector<QuantizedCase::Generated> all;
  for (const nlohmann::json &one : list)
    all.push_back({one["type"], one["kind"], one["args"].get<std::vector<double>>(), one["seed"]});
  return all;
}

static DType parseOutputType(const std::string &text) {
  for (int i = 0;; ++i)
    if (getDTypeInfo(static_cast<DType>(i)).text == text)
      return static_cast<DType>(i);
}

const std::vector<QuantizedCase> &getQuantizedCases() {
  static const std::vector<QuantizedCase> cases = [] {
    std::vector<QuantizedCase> read;
    const std::string codes = readFile("cases.bin");
    nlohmann::json root = nlohmann::json::parse(readFile("cases.json"));
    for (const nlohmann::json &one : root["cases"]) {
      QuantizedCase made{one["name"],
                         one["level"],
                         one["engine"],
                         one["body"],
                         readGenerated(one["inputs"]),
                         readGenerated(one["weights"]),
                         {}};
      for (const nlohmann::json &output : one["outputs"]) {
        QuantizedCase::Output expected;
        DType dtype = parseOutputType(output["dtype"]);
        QuantizerRef quantizer;
        if (output.contains("scale"))
          quantizer = std::make_shared<const Quantizer>(Quantizer::perTensor(output["scale"], output["zero_point"]));
        const size_t offset = output["offset"];
        expected.expected = Tensor::build(
            dtype, output["shape"].get<std::vector<int64_t>>(),
            [&](MutableBytes dst) { std::memcpy(dst.data(), codes.data() + offset, dst.size()); }, quantizer);
        if (output.contains("ties"))
          expected.ties = output["ties"].get<std::set<int64_t>>();
        made.outputs.push_back(std::move(expected));
      }
      read.push_back(std::move(made));
    }
    return read;
  }();
  return cases;
}

/// The first 24 bits of the i-th output of splitmix64.
static int64_t splitmix24(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<int64_t>((z ^ (z >> 31)) >> 40);
}

/// Element `i` of an integer tensor.
static int64_t generateInteger(const QuantizedCase::Generated &source, int64_t i) {
  auto arg = [&](size_t k) { return static_cast<int64_t>(source.args[k]); };
  int64_t high = splitmix24(source.seed, static_cast<uint64_t>(i));
  if (source.kind == "i")
    return arg(0) + (high * (arg(1) - arg(0) + 1) >> 24);
  if (source.kind == "x")
    return arg(static_cast<size_t>(high * static_cast<int64_t>(source.args.size()) >> 24));
  return arg(0) + i * arg(1) % arg(2);
}

Tensor generate(const QuantizedCase::Generated &source) {
  std::string type = source.type;
  for (const char *form : {", format=channels_last_3d", ", format=channels_last"})
    if (size_t at = type.find(form); at != std::string::npos)
      type.erase(at, std::strlen(form));
  llvm::Expected<Tensor> shaped = parseTensorText(type + " = 0", "generated");
  if (!shaped) {
    llvm::consumeError(shaped.takeError());
    return Tensor();
  }
  const int64_t count = shaped->getNumElements();
  return Tensor::build(
      shaped->getDType(), shaped->getSizes(),
      [&](MutableBytes bytes) {
        for (int64_t i = 0; i < count; ++i) {
          auto put = [&](auto value) { std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value); };
          if (shaped->getDType() == DType::Float32)
            put(static_cast<float>(
                source.args[0] +
                (source.args[1] - source.args[0]) *
                    (static_cast<double>(splitmix24(source.seed, static_cast<uint64_t>(i))) * 0x1p-24)));
          else if (getDTypeInfo(shaped->getDType()).bits == 8)
            put(static_cast<uint8_t>(generateInteger(source, i)));
          else if (getDTypeInfo(shaped->getDType()).bits == 32)
            put(static_cast<int32_t>(generateInteger(source, i)));
          else
            put(generateInteger(source, i));
        }
      },
      shaped->getQuantizer());
}

llvm::Expected<GraphModule> makeModel(const QuantizedCase &one) {
  std::string text = "qfx 1\n", header;
  for (size_t i = 0; i < one.weights.size(); ++i)
    text += "parameter w" + std::to_string(i) + " : " + one.weights[i].type + " = 0\n";
  for (size_t i = 0; i < one.inputs.size(); ++i)
    header += (i ? ", %x" : "%x") + std::to_string(i) + " : " + one.inputs[i].type;
  text += "graph(" + header + ") {\n" + one.body + "\n}\n";
  llvm::Expected<GraphModule> model = parseQfx(std::make_shared<SourceText>(SourceText{one.name, text}));
  if (model)
    for (size_t i = 0; i < one.weights.size(); ++i)
      model->getRoot().setParameter("w" + std::to_string(i), generate(one.weights[i]));
  return model;
}

llvm::Expected<std::vector<NamedValue>> runCase(const QuantizedCase &one, int threads) {
  llvm::Expected<GraphModule> model = makeModel(one);
  if (!model)
    return model.takeError();
  ProgramOptions options;
  options.engine = one.engine;
  options.threads = threads;
  auto program = Program::compile(*model, options);
  if (!program)
    return program.takeError();
  std::vector<Tensor> inputs;
  for (const QuantizedCase::Generated &input : one.inputs)
    inputs.push_back(generate(input));
  return (*program)->run(inputs);
}

static std::string compareFloats(const Tensor &actual, const Tensor &expected, bool isExact) {
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < expected.getNumElements(); ++i)
    largest = std::max(largest, std::abs(expected.getElementAsDouble(i)));
  for (int64_t i = 0; i < expected.getNumElements(); ++i)
    worst = std::max(worst, std::abs(actual.getElementAsDouble(i) - expected.getElementAsDouble(i)));
  return worst <= (isExact ? 0 : 1e-5 * largest)
             ? ""
             : "worst error " + std::to_string(worst) + " of " + std::to_string(largest);
}

static std::string compareCodes(const Tensor &actual, const QuantizedCase::Output &output) {
  const Tensor &expected = output.expected;
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < expected.getNumElements(); ++i) {
    double distance = std::abs(actual.getElementAsDouble(i) - expected.getElementAsDouble(i));
    if (distance > (output.ties.count(i) ? 1 : 0) && wrong++ == 0)
      first = i;
  }
  if (!wrong)
    return "";
  return std::to_string(wrong) + " of " + std::to_string(expected.getNumElements()) + " codes, first at " +
         std::to_string(first) + ": " + std::to_string(actual.getElementAsDouble(first)) + " for " +
         std::to_string(expected.getElementAsDouble(first));
}

std::string compareCase(const QuantizedCase &one, const std::vector<NamedValue> &results) {
  if (results.size() != one.outputs.size())
    return std::to_string(results.size()) + " results";
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor &actual = results[i].value.tensor, &expected = one.outputs[i].expected;
    if (!actual)
      return "result " + std::to_string(i) + " is no tensor";
    if (actual.getDType() != expected.getDType() || actual.getSizes() != expected.getSizes())
      return "result " + std::to_string(i) + " is " + toString(actual.getType()) + ", not " +
             toString(expected.getType());
    if (expected.getQuantizer()) {
      double scale = expected.getQuantizer()->getScale();
      if (!actual.getQuantizer() || std::abs(actual.getQuantizer()->getScale() - scale) > 1e-12 * scale ||
          actual.getQuantizer()->getZeroPoint() != expected.getQuantizer()->getZeroPoint())
        return "result is " + toString(actual.getType()) + ", not " + toString(expected.getType());
    }
    std::string wrong = expected.getDType() == DType::Float32 ? compareFloats(actual, expected, one.level != "T2")
                                                              : compareCodes(actual, one.outputs[i]);
    if (!wrong.empty())
      return wrong;
  }
  return "";
}

} // namespace qfx::test
