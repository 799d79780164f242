// Declaration of qfx-opt's flags and the pipeline they describe.
#include "tools/opt/OptFlags.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <tuple>

namespace cl = llvm::cl;

namespace qfx::tool {

static constexpr const char *kExamples =
    "\nExamples:\n"
    "  qfx-opt resnet18.qfx --quantize=static --backend=x86 --calibrate=calib.safetensors -o resnet18.int8.qfx\n"
    "  qfx-opt m.qfx --fuse --prepare --backend=my_npu.json --qconfig=my_qconfig.json -o prepared.qfx\n"
    "  qfx-opt m.qfx -p 'fuse,prepare{mode=ptq}' --print-ir-after-all --timing -o prepared.qfx\n";

std::vector<llvm::StringRef> OptFlags::getFlagNames() {
  std::vector<llvm::StringRef> names;
  for (const PassInfo &pass : getAllPasses())
    if (pass.name != "calibrate") // has a flag of its own, with data
      names.push_back(pass.name);
  for (const PipelineInfo &pipeline : getAllPipelines())
    names.push_back(pipeline.name);
  return names;
}

static llvm::StringRef getSummary(llvm::StringRef name) {
  if (const PassInfo *pass = findPass(name))
    return pass->summary;
  return findPipeline(name)->summary;
}

OptFlags::OptFlags()
    : input(cl::Positional, cl::desc("<model.qfx | ->"), cl::init("-"), cl::cat(io)),
      output("o", cl::desc("where the result goes (default -: stdout)"), cl::value_desc("file"), cl::init("-"), cl::cat(io)),
      emitForm("emit", cl::desc("form of the result: qfx (default), fx, code, tabular, dot, summary, json"), cl::value_desc("form"), cl::init("qfx"), cl::cat(io)),
      emitInner("emit-inner", cl::desc("write the graph of this module (a standalone one) instead of the model's"), cl::value_desc("path"), cl::cat(io)),
      printWeights("print-weights", cl::desc("print all weights inline on a terminal too (elsewhere they always are)"), cl::cat(io)),
      pipeline("pass-pipeline", cl::desc("passes with options: 'fuse,prepare{mode=ptq}'"), cl::value_desc("pipeline"), cl::cat(passes)),
      pipelineAlias("p", cl::desc("alias of --pass-pipeline"), cl::aliasopt(pipeline), cl::cat(passes)),
      quantize("quantize", cl::desc("the whole road: static, dynamic, dynamic-per-row, weight-only, weight-only-4bit, float16 (= the pipeline quantize-KIND); KIND{option=value} sets options of its last pass"), cl::value_desc("kind"), cl::cat(quantization)),
      backend("backend", cl::desc("built-in name or BackendConfig file (default native)"), cl::value_desc("name|file.json"), cl::init("native"), cl::cat(quantization)),
      engine("engine", cl::desc("x86, fbgemm, onednn or qnnpack (default: by the backend)"), cl::value_desc("name"), cl::cat(quantization)),
      qconfig("qconfig", cl::desc("QConfigMapping file (default: the backend's default mapping)"), cl::value_desc("file.json"), cl::cat(quantization)),
      customConfig("custom-config", cl::desc("standalone and custom modules, quantized inputs and outputs (docs/CustomConfig.md)"), cl::value_desc("file.json"), cl::cat(quantization)),
      calibrate("calibrate", cl::desc("run the calibrate pass over this data: safetensors file or folder of .npy"), cl::value_desc("data"), cl::cat(quantization)),
      strict("strict", cl::desc("a layer that stays float is an error"), cl::cat(quantization)),
      allowUnmatched("allow-unmatched", cl::desc("rules that match nothing warn instead of failing"), cl::cat(quantization)),
      allowUncalibrated("allow-uncalibrated", cl::desc("observers without data warn instead of failing"), cl::cat(quantization)),
      splitOutputs("split-outputs", cl::desc("what joins values right before they leave the model stays float: each keeps its range"), cl::cat(quantization)),
      threads("threads", cl::desc("threads of calibration and of work on weights, 1..256 (default 1)"), cl::init(1), cl::cat(quantization)),
      remarks("remarks", cl::ValueOptional, cl::desc("what was done and why not: missed (default), applied, all"), cl::value_desc("kind"), cl::cat(inspection)),
      timing("timing", cl::ValueOptional, cl::desc("time per pass: list (default), tree, json"), cl::value_desc("form"), cl::cat(inspection)),
      coverage("coverage", cl::desc("table of every call: requested, granted, why not"), cl::cat(inspection)),
      printIrBefore("print-ir-before", cl::desc("print the model before these passes"), cl::value_desc("pass,..."), cl::CommaSeparated, cl::cat(inspection)),
      printIrAfter("print-ir-after", cl::desc("print the model after these passes"), cl::value_desc("pass,..."), cl::CommaSeparated, cl::cat(inspection)),
      printIrBeforeAll("print-ir-before-all", cl::desc("print the model before every pass"), cl::cat(inspection)),
      printIrAfterAll("print-ir-after-all", cl::desc("print the model after every pass"), cl::cat(inspection)),
      printIrAfterFailure("print-ir-after-failure", cl::desc("print the model after a pass that failed"), cl::cat(inspection)),
      stats("stats", cl::desc("count operators and weight bytes before and after"), cl::cat(inspection)),
      printPipeline("print-pipeline", cl::desc("print the passes that would run and stop"), cl::cat(inspection)),
      printIrAfterChange("print-ir-after-change", cl::ValueOptional, cl::desc("print the model after passes that changed it; =diff: only the changed lines"), cl::value_desc("diff"), cl::cat(inspection)),
      printIrTo("print-ir-to", cl::desc("write the model after each pass into this folder"), cl::value_desc("folder"), cl::cat(inspection)),
      reproducer("reproducer", cl::desc("if a pass fails, write model and remaining passes here"), cl::value_desc("file"), cl::cat(inspection)),
      json("json", cl::desc("lists as one JSON object"), cl::cat(inspection)),
      printBackend("print-backend", cl::desc("print a BackendConfig with 'extends' resolved"), cl::value_desc("name|file.json"), cl::cat(inspection)),
      checkBackend("check-backend", cl::desc("check a BackendConfig file"), cl::value_desc("file.json"), cl::cat(inspection)),
      checkQConfig("check-qconfig", cl::desc("check a QConfigMapping file"), cl::value_desc("file.json"), cl::cat(inspection)),
      printDocs("print-docs", cl::desc("print a table of the documentation: observers, ops, qconfigs, qconfig-defaults, config-errors"), cl::value_desc("table"), cl::cat(inspection)),
      explain("explain", cl::desc("why these nodes of the model are quantized or not"), cl::value_desc("node,..."), cl::CommaSeparated, cl::cat(inspection)),
      splitInputFile("split-input-file", cl::desc("the input holds several models, divided by lines '// -----'"), cl::cat(testing)),
      verifyDiagnostics("verify-diagnostics", cl::desc("the input's expected-error comments must agree with the errors"), cl::cat(testing)),
      verifyEach("verify-each", cl::desc("verify after every pass (default 1)"), cl::init(true), cl::Hidden, cl::cat(testing)),
      inferTypes("infer-types", cl::desc("infer all types of the input and check its shapes (default 1)"), cl::init(true), cl::Hidden, cl::cat(testing)),
      isa("isa", cl::desc("instruction set: scalar, avx2, avxvnni, avx512vnni, neondot"), cl::value_desc("name"), cl::cat(testing)),
      log("log", cl::desc("log levels: debug, or passes=debug,ir=info"), cl::value_desc("levels"), cl::cat(logging)),
      quiet("q", cl::desc("no progress line"), cl::cat(logging)), examples(kExamples) {
  for (const ListInfo &list : getAllLists())
    listFlags.push_back(std::make_unique<cl::opt<bool>>(list.flag, cl::desc(list.summary), cl::cat(inspection)));
  for (llvm::StringRef name : getFlagNames())
    passFlags.push_back(std::make_unique<cl::list<std::string>>(name, cl::ValueOptional, cl::desc(getSummary(name)),
                                                                cl::value_desc("options"), cl::cat(passes)));
}

namespace {
/// A piece of the pipeline and where on the command line it stood.
struct PipelinePart {
  unsigned position;
  std::string text;
  std::string lastOptions; ///< "option=value ..." for its last pass
};
} // namespace

static bool hasCalibrate(llvm::ArrayRef<PipelineStep> steps) {
  return llvm::any_of(steps, [](const PipelineStep &step) { return step.info->name == "calibrate"; });
}

llvm::Expected<std::vector<PipelineStep>> OptFlags::getSteps() const {
  std::vector<PipelinePart> parts;
  if (pipeline.getNumOccurrences())
    parts.push_back({pipeline.getPosition(), pipeline.getValue(), ""});
  if (quantize.getNumOccurrences()) {
    llvm::StringRef kind = quantize.getValue(), options;
    if (kind.consume_back("}"))
      std::tie(kind, options) = kind.split('{');
    std::string name = ("quantize-" + kind).str();
    if (!findPipeline(name)) {
      std::vector<std::string> kinds;
      for (const PipelineInfo &info : getAllPipelines())
        if (llvm::StringRef kind = info.name; kind.consume_front("quantize-"))
          kinds.push_back(kind.str());
      return error({}, "--quantize is one of {0}, got '{1}'", llvm::join(kinds, ", "), quantize.getValue()).code("usage");
    }
    parts.push_back({quantize.getPosition(), name, options.str()});
  }
  std::vector<llvm::StringRef> names = getFlagNames();
  for (const auto &[name, flag] : llvm::zip(names, passFlags))
    for (unsigned i = 0; i < flag->size(); ++i) {
      const std::string &options = (*flag)[i];
      parts.push_back({flag->getPosition(i), options.empty() ? name.str() : (name + "{" + options + "}").str(), ""});
    }
  auto parse = [&]() -> llvm::Expected<std::vector<PipelineStep>> {
    llvm::stable_sort(parts, [](const PipelinePart &a, const PipelinePart &b) { return a.position < b.position; });
    std::vector<PipelineStep> steps;
    for (const PipelinePart &part : parts) {
      auto more = parsePipeline(part.text);
      if (!more)
        return more.takeError();
      if (!part.lastOptions.empty()) { // checked as the pass's own, then set over those that the pipeline gives
        PipelineStep &last = more->back();
        auto checked = parsePipeline((last.info->name + "{" + part.lastOptions + "}").str());
        if (!checked)
          return checked.takeError();
        llvm::SmallVector<llvm::StringRef, 4> given;
        llvm::StringRef(part.lastOptions).split(given, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
        for (llvm::StringRef option : given)
          last.options.set(option.split('=').first, option.split('=').second);
      }
      steps.insert(steps.end(), more->begin(), more->end());
    }
    return steps;
  };
  auto steps = parse();
  if (!steps || calibrate.empty() || hasCalibrate(*steps))
    return steps;
  parts.push_back({calibrate.getPosition(0), "calibrate", ""});
  return parse();
}

std::vector<const ListInfo *> OptFlags::getLists() const {
  std::vector<const ListInfo *> lists;
  for (const auto &[list, flag] : llvm::zip(getAllLists(), listFlags))
    if (*flag)
      lists.push_back(&list);
  return lists;
}

/// 'text' as a POSIX shell reads it back.
static std::string quoteForShell(llvm::StringRef text) {
  static constexpr llvm::StringLiteral kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,+:@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == llvm::StringRef::npos)
    return text.str();
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string OptFlags::getContextFlags() const {
  std::string text;
  auto add = [&](llvm::StringRef name, llvm::StringRef value) {
    text += " " + quoteForShell(("--" + name + (value.empty() ? "" : "=") + value).str());
  };
  for (const cl::opt<std::string> *flag : {&backend, &engine, &qconfig})
    if (flag->getNumOccurrences())
      add(flag->ArgStr, flag->getValue());
  for (const std::string &path : calibrate)
    add(calibrate.ArgStr, path);
  for (const cl::opt<bool> *flag : {&strict, &allowUnmatched, &allowUncalibrated, &splitOutputs})
    if (*flag)
      add(flag->ArgStr, "");
  if (threads.getNumOccurrences())
    add(threads.ArgStr, std::to_string(threads));
  return text;
}

} // namespace qfx::tool
