// Random pass pipelines on random models: no crash, no invalid graph, and a lowered graph computes what its reference graph computes.
//   qfx-random-pipelines [--first=SEED] [--count=N] [--seconds=S] [--steps=N] [--print]
// A seed that fails prints the model and what went wrong; --first=SEED --count=1 --print shows it again.
#include "test/fuzz/Compare.h"
#include "test/fuzz/RandomModel.h"

#include "backends/config/BackendConfig.h"
#include "backends/runtime/Program.h"
#include "ir/emit/Emit.h"
#include "ir/text/QfxText.h"
#include "ir/verify/Verifier.h"
#include "passes/PassManager.h"
#include "passes/QuantizeFx.h"
#include "passes/fuse/FusionRecord.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <string>

using namespace qfx;
using namespace qfx::fuzz;

namespace {

std::string describe(llvm::Error err) {
  std::string text;
  for (const Diagnostic &diagnostic : takeDiagnostics(std::move(err)))
    text += (text.empty() ? "" : "; ") + diagnostic.message + " [" + diagnostic.code + "]";
  return text;
}

llvm::Expected<GraphModule> parse(const std::string &text) {
  return parseQfx(std::make_shared<SourceText>(SourceText{"random.qfx", text}));
}

std::string print(const GraphModule &model) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printQfx(os, model);
  return os.str();
}

/// A backend, its engine and a qconfig mapping, all by chance.
/// \param described  receives what was chosen.
PassContext makeContext(Random &random, const RandomModel &model, std::string &described) {
  static const char *const kBackends[] = {"native", "x86", "x86", "fbgemm", "qnnpack", "onednn"};
  std::string backend = random.pick(kBackends);
  PassContext context;
  context.backend = *getBuiltinBackendConfig(backend);
  context.engine = backend == "native" ? "x86" : backend;
  context.allowUncalibrated = random.oneIn(2);
  static const char *const kAliases[] = {"default_qconfig", "default_dynamic_qconfig", "float16_dynamic_qconfig", "default_per_channel_qconfig"};
  QConfigMapping mapping;
  if (random.oneIn(3))
    mapping.setGlobal(findQConfigAlias(random.pick(kAliases)));
  else
    mapping = llvm::cantFail(getDefaultQConfigMapping(context.engine));
  for (const std::string &path : model.modulePaths)
    if (random.oneIn(8))
      mapping.setModuleName(path, std::nullopt);
  static const char *const kTypes[] = {"operator.add", "torch.cat", "torch.nn.Softmax", "torch.nn.MaxPool2d", "relu"};
  if (random.oneIn(4))
    mapping.setObjectType(OperatorName::resolve(random.pick(kTypes)), std::nullopt);
  context.qconfigMapping = mapping;
  context.allowUnmatched = true; // a name rule on a member that fusion takes
  context.splitOutputs = random.oneIn(8);
  described = "backend " + backend + (context.splitOutputs ? ", split outputs" : "") + ", mapping " + writeQConfigMapping(mapping);
  return context;
}

/// One seed: a model and what is done to it.
class Trial {
public:
  Trial(uint64_t seed, unsigned maxSteps) : random(seed * 0x9E3779B97F4A7C15 + 1), model(makeRandomModel(random, maxSteps)) {}

  const RandomModel &getModel() const { return model; }
  /// Backend and mapping of the last pipeline.
  const std::string &getChoice() const { return choice; }

  /// What went wrong, or "".
  std::string run() {
    auto parsed = parse(model.text);
    if (!parsed)
      return "the generator's model is not valid: " + describe(parsed.takeError());
    if (llvm::Error err = verify(*parsed))
      return "the generator's model is not valid: " + describe(std::move(err));
    std::string text = print(*parsed);
    for (int i = 0; i < 3; ++i)
      if (std::string problem = runAnything(*parsed); !problem.empty())
        return problem;
    if (print(*parsed) != text)
      return "a pass on a copy changed the original";
    return quantize(*parsed);
  }

private:
  std::vector<InputBatch> makeBatches(size_t count) {
    std::vector<InputBatch> batches(count);
    for (InputBatch &batch : batches)
      for (const auto &[name, shape] : model.inputs) {
        int64_t size = 1;
        for (int64_t dim : shape)
          size *= dim;
        std::vector<float> data(static_cast<size_t>(size));
        for (float &value : data)
          value = static_cast<float>(random.real(-1.5, 2));
        batch.tensors.emplace_back(name, Tensor::of<float>(DType::Float32, shape, data));
      }
    return batches;
  }

  /// Passes in any order: each may refuse, none may crash or leave an invalid graph.
  std::string runAnything(const GraphModule &source) {
    static const char *const kPasses[] = {"fuse", "prepare", "calibrate", "convert-to-reference", "propagate-int8", "lower", "fuse{mode=qat}",
                                          "prepare{mode=qat}", "weight-only-linear", "lower{dynamic=per-row}", "drop-eager-markers",
                                          "lower{keep-original-weights=true}", "prepare{kind=dynamic}", "eager-quantize-dynamic"};
    GraphModule copy = source.clone();
    PassContext context = makeContext(random, model, choice);
    context.calibrationData = makeBatches(1);
    std::string done;
    for (int64_t i = random.between(1, 6); i > 0; --i) {
      std::string name = random.pick(kPasses);
      done += (done.empty() ? "" : ",") + name;
      auto steps = parsePipeline(name);
      if (!steps)
        return "pipeline '" + name + "': " + describe(steps.takeError());
      PassManager manager;
      manager.add(*steps);
      manager.setVerifyEach(false);
      if (llvm::Error err = manager.run(copy, context)) {
        llvm::consumeError(std::move(err));
        return ""; // refused: fine, but the model may be half done
      }
      if (llvm::Error err = verify(copy))
        return "invalid graph after '" + done + "': " + describe(std::move(err));
      std::string text = print(copy);
      auto again = parse(text);
      if (!again)
        return "after '" + done + "' the text cannot be read: " + describe(again.takeError());
      std::string why;
      if (!isIdentical(copy, *again, &why))
        return "after '" + done + "' the text reads back as another model: " + why;
    }
    return "";
  }

  static llvm::Error runPasses(GraphModule &copy, const std::string &pipeline, PassContext &context) {
    auto steps = parsePipeline(pipeline);
    if (!steps)
      return steps.takeError();
    PassManager manager;
    manager.add(*steps);
    return manager.run(copy, context);
  }

  /// The road of static or dynamic quantization; passes twice equal once; saved between and resumed it is the same.
  std::string quantize(const GraphModule &source) {
    GraphModule copy = source.clone();
    PassContext context = makeContext(random, model, choice);
    context.calibrationData = makeBatches(2);
    bool resumes = random.oneIn(2), propagates = random.oneIn(4);
    auto fail = [&](const std::string &where, llvm::Error err) { return where + ": " + describe(std::move(err)); };
    auto step = [&](const std::string &pipeline) -> std::string {
      if (resumes) {
        auto again = parse(print(copy));
        if (!again)
          return fail("reading back before '" + pipeline + "'", again.takeError());
        copy = std::move(*again);
      }
      llvm::Error err = runPasses(copy, pipeline, context);
      return err ? fail("'" + pipeline + "'", std::move(err)) : "";
    };
    for (const char *pipeline : {"fuse", "prepare", "calibrate", "convert-to-reference"}) {
      if (std::string problem = step(pipeline); !problem.empty())
        return isLegitimate(problem) ? "" : problem;
      if (std::string(pipeline) == "fuse")
        if (std::string problem = checkTwice(copy, "fuse", context); !problem.empty())
          return problem;
    }
    if (propagates) {
      if (std::string problem = step("propagate-int8"); !problem.empty())
        return problem;
      if (std::string problem = checkTwice(copy, "propagate-int8", context); !problem.empty())
        return problem;
    }
    GraphModule reference = copy.clone();
    if (std::string problem = step("lower"); !problem.empty())
      return problem;
    if (std::string problem = checkTwice(copy, "lower", context); !problem.empty())
      return problem;
    return compareRuns(reference, copy, makeBatches(1)[0].tensors, context.engine);
  }

  /// Errors that a model of this kind can deserve.
  static bool isLegitimate(const std::string &problem) {
    for (const char *code : {"[convert_scale]", "[convert_uncalibrated]", "[fused_qconfigs]", "[dynamic_argument]"})
      if (problem.find(code) != std::string::npos)
        return true;
    return false;
  }

  static std::string checkTwice(const GraphModule &once, const std::string &pass, PassContext &context) {
    GraphModule twice = once.clone();
    if (llvm::Error err = runPasses(twice, pass, context))
      return "'" + pass + "' a second time: " + describe(std::move(err));
    // Of two batch norms behind a convolution the second can be folded once the first is: PyTorch's fuse_fx is not idempotent there either.
    if (loadFusionRecord(twice).size() > loadFusionRecord(once).size())
      return "";
    std::string why;
    return isIdentical(once, twice, &why) ? "" : "'" + pass + "' a second time changes the model: " + why;
  }

  Random random;
  RandomModel model;
  std::string choice;
};

struct Flags {
  uint64_t first = 1, count = 0;
  double seconds = 0;
  unsigned steps = 9;
  bool print = false;

  /// False if a flag is unknown.
  bool parse(llvm::StringRef flag) {
    if (flag == "--print")
      return print = true;
    auto [name, value] = flag.split('=');
    if (name == "--first")
      return !value.getAsInteger(10, first);
    if (name == "--count")
      return !value.getAsInteger(10, count);
    if (name == "--steps")
      return !value.getAsInteger(10, steps) && steps > 0;
    if (name == "--seconds")
      return !value.getAsDouble(seconds);
    return false;
  }
};

} // namespace

int main(int argc, char **argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i)
    if (!flags.parse(argv[i])) {
      llvm::errs() << "qfx-random-pipelines: unknown flag '" << argv[i]
                   << "'; there are --first=SEED --count=N --seconds=S --steps=N --print\n";
      return 2;
    }
  if (!flags.count && flags.seconds <= 0)
    flags.count = 100;
  auto start = std::chrono::steady_clock::now();
  uint64_t done = 0, failed = 0;
  for (uint64_t seed = flags.first; !flags.count || done < flags.count; ++seed, ++done) {
    if (flags.seconds > 0 && std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > flags.seconds)
      break;
    Trial trial(seed, flags.steps);
    if (flags.print)
      llvm::outs() << "# seed " << seed << '\n' << trial.getModel().text;
    std::string problem = trial.run();
    if (problem.empty())
      continue;
    ++failed;
    llvm::outs() << "seed " << seed << ": " << problem << '\n';
    if (flags.print)
      llvm::outs() << trial.getChoice() << '\n';
    llvm::outs().flush();
  }
  llvm::outs() << done << " seeds, " << failed << " failed\n";
  return failed ? 1 : 0;
}
