// Results in steps: a dequantized one in steps of its own scale, a float one by its magnitude.
#include "test/fuzz/Compare.h"

#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "ir/text/QfxText.h"
#include "passes/GraphUtils.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

namespace qfx::fuzz {

// Lowered and reference arithmetic round the same real number; where that is a tie, or a float sum away from one, the codes differ by one.
// Layers behind may make more of such a code: a few elements may be off by as many steps as that.
static constexpr double kFewSteps = 8.01, kFewShare = 0.02, kFloatShare = 0.05;

static std::string describe(llvm::Error err) {
  std::string text;
  for (const Diagnostic &diagnostic : takeDiagnostics(std::move(err)))
    text += (text.empty() ? "" : "; ") + diagnostic.message + " [" + diagnostic.code + "]";
  return text;
}

/// Names that Program gives results, with the nodes they come from.
static void nameResults(const Argument &value, const std::string &name, std::vector<std::pair<std::string, Node *>> &results) {
  auto below = [&](const std::string &key) { return name.empty() ? key : name + "." + key; };
  if (Node *node = value.getNodeOrNull())
    results.emplace_back(name.empty() ? "out" : name, node);
  else if (value.isSequence())
    for (size_t i = 0; i < value.getElements().size(); ++i)
      nameResults(value.getElements()[i], below(std::to_string(i)), results);
  else if (value.isDict())
    for (const auto &[key, entry] : value.getEntries())
      nameResults(entry, below(key), results);
}

/// The scale of a dequantized value; 0 of a float one.
static double getStep(const GraphModule &model, const Node &node) {
  Node *quantize = isDequantize(&node) ? node.getArg(0).getNodeOrNull() : nullptr;
  static const TargetInfo &quantizePerTensor = requireFunction("torch.quantize_per_tensor");
  if (!isFunctionCall(quantize, quantizePerTensor) || quantize->getArgs().size() != 4)
    return 0;
  Node *scale = quantize->getArg(1).getNodeOrNull();
  const Tensor *tensor = scale && scale->is(Opcode::GetAttr) ? model.getRoot().findTensorAt(scale->getTargetText()) : nullptr;
  return tensor ? tensor->getElementAsDouble(0) : 0;
}

static std::string compare(const std::string &name, const Tensor &reference, const Tensor &lowered, double step, double steps) {
  if (reference.getType().shape != lowered.getType().shape)
    return llvm::formatv("result '{0}': reference {1}, lowered {2}", name, toString(reference.getType()), toString(lowered.getType()));
  int64_t count = reference.getNumElements(), off = 0;
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < count; ++i)
    if (double value = std::abs(reference.getElementAsDouble(i)); std::isfinite(value))
      largest = std::max(largest, value);
  double unit = step > 0 ? step : std::max(kFloatShare * largest, 1e-6);
  for (int64_t i = 0; i < count; ++i) {
    double a = reference.getElementAsDouble(i), b = lowered.getElementAsDouble(i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double distance = std::abs(a - b) / unit;
    off += !(distance <= steps + 0.01);
    worst = std::isnan(distance) ? HUGE_VAL : std::max(worst, distance);
  }
  auto few = static_cast<int64_t>(std::max(1.0, kFewShare * static_cast<double>(count)));
  if (off == 0 || (off <= few && worst <= kFewSteps))
    return "";
  return llvm::formatv("result '{0}': {1} of {2} elements differ, by up to {3:f2} {4}", name, off, count, worst,
                       step > 0 ? "steps" : "twentieths of the largest value");
}

static llvm::Expected<std::vector<NamedValue>> run(const GraphModule &model, const NamedTensors &inputs, const std::string &engine) {
  ProgramOptions options;
  options.engine = engine;
  auto program = Program::compile(model, options);
  if (!program)
    return program.takeError();
  return (*program)->run(inputs);
}

std::string compareRuns(const GraphModule &reference, const GraphModule &lowered, const NamedTensors &inputs, const std::string &engine, double steps) {
  auto expected = run(reference, inputs, engine);
  if (!expected)
    return "the reference graph does not run: " + describe(expected.takeError());
  auto got = run(lowered, inputs, engine);
  if (!got)
    return "the lowered graph does not run: " + describe(got.takeError());
  if (expected->size() != got->size())
    return llvm::formatv("reference has {0} results, lowered {1}", expected->size(), got->size());
  std::vector<std::pair<std::string, Node *>> nodes;
  nameResults(const_cast<Graph &>(reference.getGraph()).getOutput()->getArg(0), "", nodes);
  for (size_t i = 0; i < expected->size(); ++i) {
    const NamedValue &a = (*expected)[i], &b = (*got)[i];
    if (a.name != b.name || a.value.isTensor() != b.value.isTensor())
      return llvm::formatv("reference has the result '{0}', lowered '{1}'", a.name, b.name);
    if (!a.value.isTensor())
      continue;
    double step = 0;
    for (const auto &[name, node] : nodes)
      if (name == a.name)
        step = getStep(reference, *node);
    if (std::string problem = compare(a.name, a.value.tensor, b.value.tensor, step, steps); !problem.empty())
      return problem;
  }
  return "";
}

} // namespace qfx::fuzz
