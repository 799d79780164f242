// The reference graph with the lowered run's values put in behind every node that has a counterpart there.
#include "test/fuzz/Compare.h"

#include "backends/observe/Observer.h"
#include "ir/Diagnostics.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "ir/Text.h"
#include "passes/GraphUtils.h"
#include "passes/ValueOrigin.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

namespace qfx::fuzz {

/// Targets of the placeholders that hand in the lowered run's values start so.
static constexpr llvm::StringLiteral kSubstitute("lowered_");

/// Float results: dynamic layers round their sums at another place, float16 ones their input too.
static constexpr double kFloatShare = 0.002;

static std::string describe(llvm::Error err) {
  std::string text;
  for (const Diagnostic &diagnostic : takeDiagnostics(std::move(err)))
    text += (text.empty() ? "" : "; ") + diagnostic.message + " [" + diagnostic.code + "]";
  return text;
}

namespace {

using ValuesByName = llvm::StringMap<Tensor>;

/// What is computed on the lowered run's values, and what the lowered graph has there.
struct Check {
  std::string name; ///< of the reference node
  Tensor lowered;
  /// What binary32 can tell of the operands, binary16 of those that are rounded to it: a sum that cancels may be quantized to finer steps.
  double resolution = 0;
  double slack = 0; ///< see getSlack; counts only where both have grids of their own
};

/// Real values of codes, with the range that the codes can say.
struct Reals {
  explicit Reals(const Tensor &tensor) : tensor(tensor) {
    if (const QuantizerRef &quantizer = tensor.getQuantizer()) {
      scale = quantizer->getScale();
      zeroPoint = static_cast<double>(quantizer->getZeroPoint());
      bool isSigned = tensor.getDType() == DType::QInt8;
      low = scale * ((isSigned ? -128 : 0) - zeroPoint);
      high = scale * ((isSigned ? 127 : 255) - zeroPoint);
    }
  }
  double at(int64_t i) const { return scale * (tensor.getElementAsDouble(i) - zeroPoint); }
  double clamp(double value) const { return std::clamp(value, low, high); }

  const Tensor &tensor;
  double scale = 1, zeroPoint = 0, low = -HUGE_VAL, high = HUGE_VAL;
};

class Comparison {
public:
  Comparison(const GraphModule &reference, const GraphModule &lowered, const std::string &engine)
      : reference(reference), lowered(lowered), forced(reference.clone()) {
    options.engine = engine;
  }

  std::string run(const NamedTensors &inputs) {
    if (llvm::Error err = keepValues(reference, inputs, referenceValues, /*byOrigin=*/false))
      return "the reference graph does not run: " + describe(std::move(err));
    if (llvm::Error err = keepValues(lowered, inputs, loweredValues, /*byOrigin=*/true))
      return "the lowered graph does not run: " + describe(std::move(err));
    NamedTensors given = inputs;
    if (options.engine == "onednn")
      reduceRanges();
    const Argument result = forced.getGraph().getOutput()->getArg(0);
    forced.getGraph().erase(forced.getGraph().getOutput());
    Argument::DictEntries wanted;
    for (Node *node : forced.getGraph().getNodeVector())
      if (!node->is(Opcode::Placeholder) && !isConstant(*node))
        if (auto kept = referenceValues.find(node->getName()); kept != referenceValues.end())
          force(*node, kept->second.getDType(), wanted, given);
    Argument forcedResult = result.mapNodes([&](Node *node) { return Argument(replacedBy.lookup(node) ? replacedBy.lookup(node) : node); });
    wanted.emplace_back("result", std::move(forcedResult));
    forced.getGraph().output(Argument::dict(std::move(wanted)));
    return compareAll(inputs, given);
  }

private:
  llvm::Error keepValues(const GraphModule &model, const NamedTensors &inputs, ValuesByName &values, bool byOrigin) {
    auto program = Program::compile(model, options);
    if (!program)
      return program.takeError();
    auto kept = (*program)->runAndKeep(inputs);
    if (!kept)
      return kept.takeError();
    llvm::StringMap<std::string> origins;
    for (const Node &node : model.getGraph().nodes())
      origins[node.getName()] = byOrigin ? getValueOrigin(node) : node.getName();
    for (const NamedValue &value : *kept)
      if (auto origin = origins.find(value.name); value.value.isTensor() && origin != origins.end())
        values[origin->second] = value.value.tensor;
    return llvm::Error::success();
  }

  /// PyTorch's dynamic modules always ask for 7 bits; onednn listens, but the reference graph says 8 (workflow 5.3).
  void reduceRanges() {
    static const TargetInfo &quantizeDynamic = requireFunction("torch.quantize_per_tensor_dynamic");
    llvm::StringSet<> readsDequantized; // calls that were not lowered
    for (const Node &node : lowered.getGraph().nodes())
      if (!node.getArgs().empty() && isDequantize(node.getArg(0).getNodeOrNull()))
        readsDequantized.insert(node.getName());
    Graph &graph = forced.getGraph();
    for (Node *node : graph.getNodeVector()) {
      Node *dequantize = node->is(Opcode::CallModule) && !node->getArgs().empty() ? node->getArg(0).getNodeOrNull() : nullptr;
      Node *quantize = isDequantize(dequantize) ? dequantize->getArg(0).getNodeOrNull() : nullptr;
      if (!isFunctionCall(quantize, quantizeDynamic) || quantize->getArg(1) == Argument(DType::Float16) || readsDequantized.contains(node->getName()))
        continue;
      auto insertPoint = Graph::InsertPoint::before(node);
      Node *reduced = graph.callFunction(quantizeDynamic, {quantize->getArg(0), quantize->getArg(1), Argument(true)});
      node->replaceInputWith(dequantize, graph.callMethod(requireMethod("dequantize"), {reduced}));
    }
    graph.eliminateDeadCode();
  }

  /// Weights and what is made of nothing else.
  static bool isConstant(const Node &node) {
    return node.is(Opcode::GetAttr) ||
           (!node.getInputs().empty() && llvm::all_of(node.getInputs(), [](const Node *input) { return isConstant(*input); }));
  }

  static bool isResult(llvm::StringRef name) { return name == "result" || startsWith(name, "result."); }

  const Tensor *findLowered(const Node &node) const {
    auto it = loweredValues.find(getValueOrigin(node));
    return it == loweredValues.end() ? nullptr : &it->second;
  }

  /// Those of a dynamic quantize have no parameters that a run hands out.
  static bool isCodes(const Tensor &tensor) { return tensor.getQuantizer() || tensor.getDType() == DType::Float16; }

  /// The codes that the lowered graph has where the reference has those of `quantize`: of this very node, or of the one that took it in.
  const Tensor *findCodes(const Node &quantize) const {
    const Tensor *own = findLowered(quantize);
    if (own && isCodes(*own))
      return own;
    const Node *source = quantize.getArgs().empty() ? nullptr : quantize.getArg(0).getNodeOrNull();
    const Tensor *codes = source ? findLowered(*source) : nullptr;
    return codes && isCodes(*codes) ? codes : nullptr;
  }

  /// Lets users of `node` read the lowered graph's value, and asks for its own.
  void force(Node &node, DType dtype, Argument::DictEntries &wanted, NamedTensors &given) {
    static const TargetInfo &quantizeDynamic = requireFunction("torch.quantize_per_tensor_dynamic");
    if (isFunctionCall(&node, quantizeDynamic)) // its parameters are its operand's: its dequantize shows them
      return;
    static const TargetInfo &toMethod = requireMethod("to");
    static const TargetInfo &quantizePerTensor = requireFunction("torch.quantize_per_tensor");
    if (isDequantize(&node)) { // the same of the same codes: nothing to check
      Node *source = node.getArg(0).getNodeOrNull();
      if (const Tensor *codes = source ? findCodes(*source) : nullptr) {
        replace(node, codes->getQuantizer() ? dequantizeTensor(*codes) : widen(*codes), given);
        if (codes->getQuantizer())
          steps[replacedBy[&node]] = codes->getQuantizer()->getScale();
      } else if (const Tensor *reals = findLowered(node))
        replace(node, *reals, given);
      return;
    }
    bool isQuantize = isFunctionCall(&node, quantizePerTensor) || (node.is(Opcode::CallMethod) && node.getTarget() == &toMethod);
    const Tensor *counterpart = isQuantize ? findCodes(node) : findLowered(node);
    if (!counterpart || (counterpart->getDType() != dtype && !isQuantize)) // its value shows behind the quantize only
      return;
    wanted.emplace_back(node.getName(), Argument(&node));
    checks.push_back({node.getName(), *counterpart, isQuantize ? std::ldexp(getLargestOperand(node, 3), -22) : readsHalf(node) ? std::ldexp(getLargestOperand(node, 1), -10) : 0,
                      isQuantize ? getSlack(*node.getArg(0).getNode(), *counterpart) : 0});
    if (!isQuantize)
      replace(node, *counterpart, given);
  }

  /// Does a dynamic float16 layer read its operand rounded?  The lowered layer rounds at another place.
  static bool readsHalf(const Node &node) {
    static const TargetInfo &quantizeDynamic = requireFunction("torch.quantize_per_tensor_dynamic");
    return llvm::any_of(node.getInputs(), [](const Node *input) {
      const Node *source = isDequantize(input) ? input->getArg(0).getNodeOrNull() : nullptr;
      return isFunctionCall(source, quantizeDynamic) && source->getArg(1) == Argument(DType::Float16);
    });
  }

  /// What the lowered form of `source` loses before it rounds to `codes`: quantized::add rounds the scalar of x + 3.0 to steps of x (half of one),
  /// and the last code of tanh and sigmoid stands for 1, a step (half of one more than rounding) below it.
  double getSlack(const Node &source, const Tensor &codes) const {
    ModuleRef module = source.is(Opcode::CallModule) ? reference.getModule(source) : nullptr;
    const TargetInfo *target = module ? module->getClass() : source.getTarget();
    if (!target)
      return 0;
    switch (target->op) {
    case OpKind::Add:
    case OpKind::Sub:
      return source.getInputs().size() == 1 ? steps.lookup(source.getInputs().front()) / 2 : 0;
    case OpKind::Tanh:
    case OpKind::Sigmoid:
    case OpKind::Hardsigmoid:
      return codes.getQuantizer() ? codes.getQuantizer()->getScale() / 2 : 0;
    default:
      return 0;
    }
  }

  /// The largest value that `node`, or one up to `depth` operators before it, reads.
  double getLargestOperand(const Node &node, int depth) const {
    double largest = 0;
    for (const Node *input : node.getInputs()) {
      llvm::StringRef name = input->is(Opcode::Placeholder) ? input->getTargetText() : input->getName();
      name.consume_front(kSubstitute);
      auto kept = referenceValues.find(name);
      if (kept == referenceValues.end())
        continue;
      const Reals reals(kept->second);
      for (int64_t i = 0; i < kept->second.getNumElements(); ++i)
        if (double value = std::abs(reals.at(i)); std::isfinite(value))
          largest = std::max(largest, value);
      if (depth > 1)
        largest = std::max(largest, getLargestOperand(*input, depth - 1));
    }
    return largest;
  }

  static Tensor widen(const Tensor &half) {
    std::vector<float> values(static_cast<size_t>(half.getNumElements()));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(half.getElementAsDouble(static_cast<int64_t>(i)));
    return Tensor::of<float>(DType::Float32, half.getSizes(), values);
  }

  /// Codes come as their reals and are quantized again, which gives the same codes.
  void replace(Node &node, const Tensor &value, NamedTensors &given) {
    const QuantizerRef &quantizer = value.getQuantizer();
    Tensor input = quantizer ? dequantizeTensor(value) : value;
    auto insertPoint = Graph::InsertPoint::before(&node);
    Node *substitute = forced.getGraph().placeholder((kSubstitute + node.getName()).str());
    substitute->setType(input.getType());
    given.emplace_back(substitute->getTargetText().str(), input);
    if (quantizer)
      substitute = forced.getGraph().callFunction(requireFunction("torch.quantize_per_tensor"),
                                                  {Argument(substitute), Argument(quantizer->getScale()), Argument(quantizer->getZeroPoint()),
                                                   Argument(value.getDType())});
    node.replaceAllUsesWith(substitute);
    replacedBy[&node] = substitute;
  }

  std::string compareAll(const NamedTensors &inputs, const NamedTensors &given) {
    auto program = Program::compile(forced, options);
    auto loweredProgram = Program::compile(lowered, options);
    if (!program)
      return "the reference graph does not take the lowered values: " + describe(program.takeError());
    auto expected = (*program)->run(given);
    if (!expected)
      return "the reference graph does not run on the lowered values: " + describe(expected.takeError());
    if (!loweredProgram)
      return describe(loweredProgram.takeError());
    auto results = (*loweredProgram)->run(inputs);
    if (!results)
      return describe(results.takeError());
    llvm::StringMap<const Value *> expectedByName;
    for (const NamedValue &value : *expected)
      expectedByName[value.name] = &value.value;
    for (const Check &check : checks) {
      const Value *value = expectedByName.lookup(check.name);
      if (!value || !value->isTensor())
        return "'" + check.name + "' is no tensor in the reference graph";
      if (std::string problem = compareValues(check.name, value->tensor, check.lowered, check.resolution, check.slack); !problem.empty())
        return problem;
    }
    size_t numResults = llvm::count_if(*expected, [](const NamedValue &value) { return isResult(value.name); });
    if (numResults != results->size())
      return llvm::formatv("reference has {0} results, lowered {1}", numResults, results->size());
    for (const NamedValue &result : *results) {
      const Value *value = expectedByName.lookup(result.name == "out" ? "result" : "result." + result.name);
      if (!value || value->isTensor() != result.value.isTensor())
        return "the reference has no result '" + result.name + "'";
      if (!value->isTensor())
        continue;
      if (std::string problem = compareValues("result " + result.name, value->tensor, result.value.tensor, 0, 0); !problem.empty())
        return problem;
    }
    return "";
  }

  static std::string compareValues(const std::string &name, const Tensor &expected, const Tensor &got, double resolution, double slack) {
    if (expected.getSizes() != got.getSizes() || expected.getDType() != got.getDType())
      return llvm::formatv("'{0}': reference {1}, lowered {2}", name, toString(expected.getType()), toString(got.getType()));
    const Reals a(expected), b(got);
    bool areCodes = expected.getQuantizer() != nullptr;
    int64_t off = 0;
    double largest = 0, worst = 0;
    for (int64_t i = 0; i < expected.getNumElements(); ++i)
      if (double value = std::abs(a.at(i)); std::isfinite(value))
        largest = std::max(largest, value);
    double unit = areCodes ? std::max({a.scale, b.scale, resolution}) : std::max({kFloatShare * largest, resolution, 1e-6});
    // On one grid both are a whole number of steps apart; on two each rounds by half a step of its own.
    double most = a.scale == b.scale ? 1.001 : 1.001 + slack / unit;
    for (int64_t i = 0; i < expected.getNumElements(); ++i) {
      double x = a.at(i), y = a.clamp(b.at(i)); // a quantize that lowering dropped would have clamped
      if (x == y || (std::isnan(x) && std::isnan(y)))
        continue;
      double distance = std::abs(x - y) / unit;
      off += !(distance <= most);
      worst = std::isnan(distance) ? HUGE_VAL : std::max(worst, distance);
    }
    if (off == 0)
      return "";
    return llvm::formatv("'{0}': {1} of {2} elements differ, by up to {3:f2} {4}", name, off, expected.getNumElements(), worst,
                         areCodes ? "steps" : "five-hundredths of the largest value");
  }

  const GraphModule &reference, &lowered;
  GraphModule forced;
  ProgramOptions options;
  ValuesByName referenceValues;
  ValuesByName loweredValues; ///< by the node of the reference that has the same value
  llvm::DenseMap<const Node *, Node *> replacedBy;
  llvm::DenseMap<const Node *, double> steps; ///< of what the lowered run's codes put in, their scale
  std::vector<Check> checks;
};

} // namespace

std::string compareRuns(const GraphModule &reference, const GraphModule &lowered, const NamedTensors &inputs, const std::string &engine) {
  return Comparison(reference, lowered, engine).run(inputs);
}

} // namespace qfx::fuzz
