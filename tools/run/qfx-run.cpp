// qfx-run: runs a model, compares it with another, measures accuracy and time.
#include "backends/runtime/Program.h"
#include "ir/text/QfxText.h"
#include "ir/weights/Npy.h"
#include "ir/weights/Safetensors.h"
#include "kernels/isa/Isa.h"
#include "tools/common/Tool.h"
#include "tools/run/Benchmark.h"
#include "tools/run/Compare.h"
#include "tools/run/Labels.h"
#include "tools/run/RunInputs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
using namespace qfx;
using namespace qfx::tool;

static constexpr llvm::StringLiteral kTool = "qfx-run";

namespace {
struct Flags {
  cl::OptionCategory io{"Input/output"}, check{"Comparison and accuracy"}, timing{"Timing"}, other{"Logging"};
  cl::opt<std::string> model{cl::Positional, cl::desc("<model.qfx | ->"), cl::init("-"), cl::cat(io)};
  cl::opt<std::string> inputs{"inputs", cl::desc("safetensors file, folder of .npy, or random:SEED (default random:0)"), cl::value_desc("data"), cl::cat(io)};
  cl::list<std::string> input{"input", cl::desc("one input: NAME=@FILE.npy or NAME=TYPE:random:SEED"), cl::value_desc("spec"), cl::cat(io)};
  cl::opt<std::string> outputs{"outputs", cl::desc("write all outputs to this safetensors file"), cl::value_desc("file"), cl::cat(io)};
  cl::list<std::string> output{"output", cl::desc("write one output of the first batch: NAME=@FILE.npy"), cl::value_desc("spec"), cl::cat(io)};
  cl::opt<std::string> dump{"dump-intermediates", cl::desc("write every node's value to this safetensors file"), cl::value_desc("file"), cl::cat(io)};
  cl::opt<std::string> print{"print", cl::desc("what to print of the outputs: summary (default), values, none"), cl::init("summary"), cl::cat(io)};
  cl::opt<std::string> compare{"compare", cl::desc("reference model: per-output and per-layer error"), cl::value_desc("ref.qfx"), cl::cat(check)};
  cl::opt<double> atol{"atol", cl::desc("largest absolute error"), cl::init(-1), cl::cat(check)};
  cl::opt<double> rtol{"rtol", cl::desc("largest error relative to the largest reference value"), cl::init(-1), cl::cat(check)};
  cl::opt<double> sqnr{"sqnr", cl::desc("least signal-to-noise ratio of each output, dB"), cl::init(-std::numeric_limits<double>::infinity()), cl::cat(check)};
  cl::opt<unsigned> worst{"worst", cl::desc("how many of the worst layers to list (default 5)"), cl::init(5), cl::cat(check)};
  cl::opt<std::string> labels{"labels", cl::desc("labels (safetensors with 'labels', or .npy): print top-1 and top-5"), cl::value_desc("file"), cl::cat(check)};
  cl::opt<bool> benchmark{"benchmark", cl::desc("measure the time of one run"), cl::cat(timing)};
  cl::opt<unsigned> repeat{"repeat", cl::desc("number of timed runs (default: about a second)"), cl::init(0), cl::cat(timing)};
  cl::opt<std::string> profile{"profile", cl::ValueOptional, cl::desc("time per node, as a table or =json"), cl::cat(timing)};
  cl::opt<unsigned> threads{"threads", cl::desc("threads, 1..256 (default 1)"), cl::init(1), cl::cat(timing)};
  cl::opt<std::string> isa{"isa", cl::desc("instruction set: scalar, avx2, avxvnni, avx512vnni, neondot"), cl::cat(timing)};
  cl::opt<bool> quiet{"q", cl::desc("no progress, no summary"), cl::cat(other)};
  cl::opt<std::string> log{"log", cl::desc("log levels: debug, or passes=debug,ir=info"), cl::cat(other)};
  cl::extrahelp examples{"\nExamples:\n"
                         "  qfx-run resnet18.int8.qfx --inputs=batch.safetensors --outputs=out.safetensors\n"
                         "  qfx-run resnet18.int8.qfx --compare=resnet18.qfx --inputs=batch.safetensors --sqnr=30\n"
                         "  qfx-run resnet18.int8.qfx --benchmark --threads=2\n"};
};
} // namespace

/// Prefixes names with the batch number when there is more than one batch.
static void append(NamedTensors &all, llvm::ArrayRef<NamedValue> values, size_t batch, size_t numBatches) {
  for (const NamedValue &value : values)
    if (value.value.isTensor())
      all.emplace_back(numBatches > 1 ? std::to_string(batch) + "." + value.name : value.name, value.value.tensor);
}

static void printValue(const NamedValue &value, bool withElements) {
  llvm::outs() << value.name << "  ";
  if (!value.value.isTensor()) {
    llvm::outs() << toString(value.value.host, ArgumentStyle::Repr) << '\n';
    return;
  }
  const Tensor &tensor = value.value.tensor;
  llvm::outs() << toString(tensor.getType());
  int64_t count = tensor.getNumElements();
  double low = 0, high = 0, sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    double element = tensor.getElementAsDouble(i);
    low = i ? std::min(low, element) : element;
    high = i ? std::max(high, element) : element;
    sum += element;
  }
  llvm::outs() << llvm::formatv("  min {0:f6}  max {1:f6}  mean {2:f6}\n", low, high, count ? sum / static_cast<double>(count) : 0.0);
  if (!withElements)
    return;
  for (int64_t i = 0; i < count; ++i)
    llvm::outs() << llvm::formatv("{0:f6}{1}", tensor.getElementAsDouble(i), (i + 1) % 8 && i + 1 < count ? " " : "\n");
}

static llvm::Error writeSingleOutput(llvm::ArrayRef<NamedValue> values, llvm::StringRef spec) {
  auto [name, path] = spec.split('=');
  if (!path.consume_front("@"))
    return error({}, "--output takes NAME=@FILE.npy, got '{0}'", spec).code("run_output");
  for (const NamedValue &value : values)
    if (value.name == name && value.value.isTensor())
      return writeNpyFile(path, value.value.tensor);
  std::vector<std::string> names;
  for (const NamedValue &value : values)
    names.push_back(value.name);
  return error({}, "the model has no output '{0}'{1}", name, didYouMean(name, names)).code("run_output");
}

static llvm::Expected<GraphModule> load(llvm::StringRef path) {
  std::vector<Diagnostic> warnings;
  LoadOptions options;
  options.warnings = &warnings;
  auto model = loadModel(path, options);
  for (const Diagnostic &warning : warnings)
    reportWarning(kTool, warning);
  return model;
}

namespace {
/// One invocation: the programs, what is collected, what is printed at the end.
class Runner {
public:
  explicit Runner(const Flags &flags) : flags(flags) {}
  llvm::Expected<int> run();

private:
  llvm::Error prepare();
  llvm::Error runBatch(size_t index);
  llvm::Expected<int> finish();

  const Flags &flags;
  std::optional<GraphModule> model, reference;
  std::unique_ptr<Program> program, referenceProgram;
  std::vector<InputBatch> batches;
  std::optional<Comparison> comparison;
  std::optional<AccuracyCounter> accuracy;
  NamedTensors outputs, intermediates;
};
} // namespace

llvm::Error Runner::prepare() {
  auto loaded = load(flags.model);
  if (!loaded)
    return loaded.takeError();
  model = std::move(*loaded);
  auto made = makeRunInputs(*model, flags.inputs, std::vector<std::string>(flags.input.begin(), flags.input.end()));
  if (!made)
    return made.takeError();
  batches = std::move(*made);
  ProgramOptions options;
  options.threads = static_cast<int>(flags.threads.getValue());
  auto compiled = Program::compile(*model, options);
  if (!compiled)
    return compiled.takeError();
  program = std::move(*compiled);
  if (!flags.labels.empty()) {
    auto counter = AccuracyCounter::load(flags.labels);
    if (!counter)
      return counter.takeError();
    accuracy = std::move(*counter);
  }
  if (flags.compare.empty())
    return llvm::Error::success();
  auto loadedReference = load(flags.compare);
  if (!loadedReference)
    return loadedReference.takeError();
  reference = std::move(*loadedReference);
  auto compiledReference = Program::compile(*reference, options);
  if (!compiledReference)
    return compiledReference.takeError();
  referenceProgram = std::move(*compiledReference);
  CompareOptions compareOptions;
  compareOptions.atol = flags.atol;
  compareOptions.rtol = flags.rtol;
  compareOptions.sqnr = flags.sqnr;
  comparison.emplace(compareOptions);
  return llvm::Error::success();
}

llvm::Error Runner::runBatch(size_t index) {
  const InputBatch &batch = batches[index];
  auto values = program->run(batch.tensors);
  if (!values)
    return values.takeError();
  if (accuracy)
    if (llvm::Error err = accuracy->add(*values))
      return err;
  if (!flags.outputs.empty())
    append(outputs, *values, index, batches.size());
  if (index == 0)
    for (const std::string &spec : flags.output)
      if (llvm::Error err = writeSingleOutput(*values, spec))
        return err;
  bool isPrinted = !flags.quiet && flags.print != "none" && !comparison && !accuracy && !flags.benchmark && flags.profile.getNumOccurrences() == 0;
  if (isPrinted)
    for (const NamedValue &value : *values)
      printValue(value, flags.print == "values");
  if (!flags.dump.empty()) {
    auto all = program->runAndKeep(batch.tensors);
    if (!all)
      return all.takeError();
    append(intermediates, *all, index, batches.size());
  }
  if (!comparison)
    return llvm::Error::success();
  auto references = referenceProgram->run(batch.tensors);
  if (!references)
    return references.takeError();
  comparison->addOutputs(*values, *references);
  auto layers = program->runAndKeep(batch.tensors), referenceLayers = referenceProgram->runAndKeep(batch.tensors);
  if (!layers || !referenceLayers)
    return llvm::joinErrors(layers.takeError(), referenceLayers.takeError());
  comparison->addLayers(*layers, *referenceLayers, getValueNames(*model));
  return llvm::Error::success();
}

llvm::Expected<int> Runner::finish() {
  if (!flags.outputs.empty())
    if (llvm::Error err = writeSafetensorsFile(flags.outputs, outputs))
      return err;
  if (!flags.dump.empty())
    if (llvm::Error err = writeSafetensorsFile(flags.dump, intermediates))
      return err;
  if (accuracy) {
    if (llvm::Error err = accuracy->finish())
      return err;
    llvm::outs() << llvm::formatv("top-1 {0:P2}  top-5 {1:P2}  of {2} samples\n", accuracy->getTop1(), accuracy->getTop5(), accuracy->getNumRows());
  }
  if (flags.benchmark || flags.profile.getNumOccurrences()) {
    if (flags.profile.getNumOccurrences())
      program->setProfiling(true);
    auto latency = measureLatency(*program, batches.front(), flags.repeat);
    if (!latency)
      return latency.takeError();
    if (flags.benchmark)
      llvm::outs() << llvm::formatv("time {0:f3} ms median, {1:f3} ms min of {2}  threads {3}  isa {4}  arena {5:f1} MB  packed weights {6:f1} MB  peak memory {7:f1} MB\n",
                                    latency->medianMs, latency->minMs, latency->repeats, program->getThreads(),
                                    llvm::StringRef(kernels::getIsaName(kernels::getCurrentIsa()).data()), program->getArenaBytes() / 1e6,
                                    program->getPackedBytes() / 1e6, getPeakMemoryBytes() / 1e6);
    if (flags.profile.getNumOccurrences())
      printProfile(llvm::outs(), *program, flags.profile == "json");
  }
  if (!comparison)
    return kDone;
  unsigned missed = comparison->print(llvm::outs(), flags.worst);
  if (!missed)
    return kDone;
  llvm::outs().flush();
  llvm::errs() << kTool << ": error: comparison failed: " << missed << " of " << comparison->getNumOutputs() << " outputs\n";
  return kComparisonFailed;
}

llvm::Expected<int> Runner::run() {
  if (llvm::Error err = prepare())
    return err;
  ProgressLine progress("run", flags.quiet);
  for (size_t i = 0; i < batches.size(); ++i) {
    if (llvm::Error err = runBatch(i))
      return err;
    progress.update(i + 1, batches.size());
  }
  return finish();
}

int main(int argc, char **argv) {
  removeForeignOptions();
  Flags flags;
  if (!parseCommandLine(argc, argv, "qfx-run: runs a .qfx model, compares it with another, measures accuracy and time\n"))
    return kBadUsage;
  if (flags.print != "summary" && flags.print != "values" && flags.print != "none")
    return reportUsage(kTool, "--print is one of summary, values, none, got '" + flags.print + "'");
  if (llvm::Error err = llvm::joinErrors(llvm::joinErrors(setLogLevels(flags.log), selectIsa(flags.isa)), checkThreads(flags.threads))) {
    reportError(kTool, std::move(err));
    return kBadUsage;
  }
  auto result = Runner(flags).run();
  return finishOutput(kTool, result ? *result : reportError(kTool, result.takeError()));
}
