// qfx-opt: reads a model, runs passes over it, writes the result.
#include "backends/config/BackendConfigJson.h"
#include "ir/ModuleGraph.h"
#include "ir/Text.h"
#include "ir/emit/Emit.h"
#include "ir/text/QfxText.h"
#include "ir/verify/Verifier.h"
#include "ir/weights/MappedFile.h"
#include "passes/PassManager.h"
#include "passes/debug/Explain.h"
#include "passes/prepare/PrepareOptions.h"
#include "tools/common/Tool.h"
#include "tools/opt/Configs.h"
#include "tools/opt/Docs.h"
#include "tools/opt/CoverageTable.h"
#include "tools/opt/Instrumentation.h"
#include "tools/opt/Lists.h"
#include "tools/opt/OptFlags.h"
#include "tools/opt/OutputFiles.h"
#include "tools/opt/RemarkFolder.h"
#include "tools/opt/VerifyDiagnostics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace qfx;
using namespace qfx::tool;

static constexpr llvm::StringLiteral kTool = "qfx-opt";

/// Workflow 6: the engine follows the backend's name unless --engine says otherwise.
static std::string getDefaultEngine(llvm::StringRef backend) {
  for (llvm::StringRef engine : {"fbgemm", "x86", "qnnpack", "onednn"})
    if (backend == engine)
      return backend.str();
  return backend == "executorch" ? "qnnpack" : "x86";
}

static llvm::Expected<PassContext> makeContext(const OptFlags &flags, DiagnosticSink &sink, RemarkFolder &remarks) {
  PassContext context;
  std::vector<Diagnostic> warnings;
  auto backend = loadBackendConfig(flags.backend, warnings);
  for (const Diagnostic &warning : warnings)
    sink.add(warning);
  if (!backend)
    return backend.takeError();
  context.backend = std::move(*backend);
  context.engine = flags.engine.empty() ? getDefaultEngine(context.backend.getName()) : flags.engine.getValue();
  static constexpr llvm::StringLiteral kEngines[] = {"x86", "fbgemm", "onednn", "qnnpack"};
  if (!llvm::is_contained(kEngines, context.engine))
    return error({}, "--engine is one of x86, fbgemm, onednn, qnnpack, got '{0}'", context.engine).code("usage");
  if (!flags.qconfig.empty()) {
    warnings.clear();
    auto mapping = loadQConfigMapping(flags.qconfig, &warnings);
    for (const Diagnostic &warning : warnings)
      sink.add(warning);
    if (!mapping)
      return mapping.takeError();
    context.qconfigMapping = std::move(*mapping);
  }
  if (!flags.customConfig.empty()) {
    auto custom = loadCustomConfig(flags.customConfig);
    if (!custom)
      return custom.takeError();
    context.customConfig = std::move(*custom);
  }
  for (const std::string &path : flags.calibrate) {
    auto batches = loadInputs(path);
    if (!batches)
      return batches.takeError();
    context.calibrationData.insert(context.calibrationData.end(), batches->begin(), batches->end());
  }
  context.strict = flags.strict;
  context.allowUnmatched = flags.allowUnmatched;
  context.allowUncalibrated = flags.allowUncalibrated;
  context.splitOutputs = flags.splitOutputs;
  context.numThreads = flags.threads;
  context.onWarning = [&sink](const Diagnostic &warning) { sink.add(warning); };
  bool wantsMissed = flags.remarks.getNumOccurrences() && flags.remarks != "applied";
  bool wantsApplied = flags.remarks == "applied" || flags.remarks == "all";
  context.onRemark = [&remarks, wantsMissed, wantsApplied](const Remark &remark) {
    if (remark.kind == Remark::Kind::Missed ? wantsMissed : wantsApplied)
      remarks.add(remark);
  };
  return context;
}

static llvm::Error writeResult(const OptFlags &flags, const GraphModule &outer) {
  std::optional<GraphModule> inner;
  if (!flags.emitInner.empty()) {
    ModuleRef module;
    inner = outer.clone();
    llvm::SmallVector<llvm::StringRef, 4> parts;
    llvm::StringRef(flags.emitInner).split(parts, '/');
    for (llvm::StringRef path : parts) { // outer/inner: a module in the graph of a module
      module = inner->getRoot().findModule(path);
      if (!module || !hasGraph(*module))
        return error({}, "--emit-inner: '{0}' is no module with a graph of its own", path).code("usage");
      inner = openModule(*module);
    }
  }
  const GraphModule &model = inner ? *inner : outer;
  auto form = parseEmitForm(flags.emitForm);
  assert(form && "checked with the command line");
  bool toStdout = flags.output == "-";
  if (*form == EmitForm::Qfx && !toStdout)
    return saveModel(model, flags.output, flags.threads);
  if (*form == EmitForm::Qfx) {
    PrintOptions options;
    bool isForReading = llvm::sys::Process::StandardOutIsDisplayed() && !flags.printWeights;
    options.large = isForReading ? PrintOptions::Large::Digest : PrintOptions::Large::Inline;
    options.maxInlineElements = 16;
    printQfx(llvm::outs(), model, options);
    return llvm::Error::success();
  }
  if (toStdout) {
    emit(llvm::outs(), model, *form);
    return llvm::Error::success();
  }
  return writeFileAtomically(flags.output, [&](llvm::raw_ostream &os) { emit(os, model, *form); });
}

/// Says of each node of --explain why the pipeline quantizes it or not; nothing else is run.
static llvm::Error explain(const OptFlags &flags, const GraphModule &model, llvm::ArrayRef<PipelineStep> steps, const PassContext &context) {
  const PassInfo *preparePass = findPass("prepare");
  const PipelineStep *step = llvm::find_if(steps, [&](const PipelineStep &step) { return step.info == preparePass; });
  auto options = getPrepareOptions(step == steps.end() ? PassOptions(preparePass->options) : step->options, context);
  if (!options)
    return options.takeError();
  for (const std::string &name : flags.explain) {
    auto text = explainNode(model, name, context, *options);
    if (!text)
      return text.takeError();
    llvm::outs() << *text;
  }
  return llvm::Error::success();
}

/// Parse, run and write one model.
/// \param startedNs  when its configuration began to be read.
static llvm::Error process(const OptFlags &flags, std::shared_ptr<const SourceText> source, const LoadOptions &loadOptions,
                           llvm::ArrayRef<PipelineStep> steps, PassContext &context, RemarkFolder &remarks, DiagnosticSink &sink,
                           uint64_t startedNs, llvm::raw_ostream &log) {
  auto model = parseQfx(std::move(source), loadOptions);
  if (!model)
    return model.takeError();
  FileTimes times;
  times.loadNs = getClockNs() - startedNs;
  if (flags.inferTypes) {
    VerifyOptions verifyOptions;
    verifyOptions.inferTypes = true;
    if (llvm::Error err = verify(*model, verifyOptions))
      return err;
  }
  if (!flags.explain.empty())
    return explain(flags, *model, steps, context);
  PassManager manager;
  manager.setVerifyEach(flags.verifyEach);
  manager.add(steps);
  addInstrumentations(manager, flags, log);
  OpCounts before = countOps(*model);
  CoverageTable coverage;
  if (flags.coverage)
    context.onCoverage = [&](const CoverageRow &row) { coverage.add(row); };
  llvm::Error err = manager.run(*model, context);
  remarks.flush([&](Diagnostic remark) { sink.add(std::move(remark)); });
  if (flags.coverage)
    coverage.print(log);
  if (!err && !flags.verifyDiagnostics) {
    uint64_t begin = getClockNs();
    err = writeResult(flags, *model);
    times.saveNs = getClockNs() - begin;
  }
  if (flags.timing.getNumOccurrences())
    printTiming(log, manager.getRuns(), times, flags.timing);
  if (flags.stats && !err)
    printStats(log, before, countOps(*model));
  return err;
}

/// The parts of a file at lines `// -----`, each padded with empty lines so that line numbers stay the file's.
static std::vector<std::string> splitInput(llvm::StringRef text) {
  std::vector<std::string> parts;
  std::string padding, current;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    padding += '\n';
    if (startsWith(line, "// -----")) {
      parts.push_back(std::move(current));
      current = padding;
    } else {
      current += line.str() + "\n";
    }
  }
  parts.push_back(std::move(current));
  return parts;
}

static int runTool(const OptFlags &flags) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(flags.input, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return reportUsage(kTool, "cannot read '" + flags.input + "': " + buffer.getError().message());
  std::string name = flags.input == "-" ? "<stdin>" : flags.input.getValue();
  std::string text = (*buffer)->getBuffer().str();
  auto steps = flags.getSteps();
  if (!steps) {
    reportError(kTool, steps.takeError());
    return kBadUsage;
  }
  if (flags.printPipeline) {
    llvm::outs() << printPipeline(*steps) << '\n';
    return kDone;
  }

  if (llvm::Error err = checkOutputFiles(flags, text)) {
    reportError(kTool, std::move(err));
    return kBadUsage;
  }

  LoadOptions loadOptions;
  std::vector<Diagnostic> loadWarnings;
  loadOptions.warnings = &loadWarnings;
  loadOptions.weightsDirectory = flags.input == "-" ? "." : llvm::sys::path::parent_path(flags.input).str();
  std::vector<std::string> parts = flags.splitInputFile ? splitInput(text) : std::vector<std::string>{text};
  int result = kDone;
  for (size_t i = 0; i < parts.size(); ++i) {
    DiagnosticSink sink(kTool, /*printNow=*/!flags.verifyDiagnostics);
    auto source = std::make_shared<SourceText>(SourceText{name, parts[i]});
    if (i && !flags.verifyDiagnostics)
      llvm::outs() << "// -----\n";
    ProgressLine progress("calibrate", flags.quiet);
    RemarkFolder remarks(/*folds=*/!flags.verifyDiagnostics);
    uint64_t startedNs = getClockNs();
    auto context = makeContext(flags, sink, remarks);
    llvm::Error err = llvm::Error::success();
    if (context) {
      context->onProgress = [&](size_t done, size_t total) {
        progress.update(done, total);
        return true;
      };
      err = process(flags, source, loadOptions, *steps, *context, remarks, sink, startedNs, llvm::errs());
    } else {
      err = context.takeError();
    }
    for (const Diagnostic &warning : loadWarnings)
      sink.add(warning);
    loadWarnings.clear();
    if (flags.verifyDiagnostics) {
      sink.add(std::move(err));
      if (!verifyDiagnostics(*source, sink.getDiagnostics()))
        result = kBadInput;
    } else if (err) {
      result = std::max(result, reportError(kTool, std::move(err)));
    }
  }
  return result;
}

/// Flags whose values have a fixed set.
static int checkChoices(const OptFlags &flags) {
  if (!parseEmitForm(flags.emitForm))
    return reportUsage(kTool, "--emit is one of " + llvm::join(getEmitFormNames(), ", ") + ", got '" + flags.emitForm + "'");
  auto isOneOf = [](llvm::StringRef value, std::initializer_list<llvm::StringRef> allowed) { return llvm::is_contained(allowed, value); };
  if (!isOneOf(flags.remarks, {"", "missed", "applied", "all"}))
    return reportUsage(kTool, "--remarks is one of missed, applied, all, got '" + flags.remarks + "'");
  if (!isOneOf(flags.timing, {"", "list", "tree", "json"}))
    return reportUsage(kTool, "--timing is one of list, tree, json, got '" + flags.timing + "'");
  if (!isOneOf(flags.printIrAfterChange, {"", "diff"}))
    return reportUsage(kTool, "--print-ir-after-change takes nothing or diff, got '" + flags.printIrAfterChange + "'");
  std::vector<std::string> passNames;
  for (const PassInfo &pass : getAllPasses())
    passNames.push_back(pass.name.str());
  auto findUnknown = [&](llvm::ArrayRef<std::string> names) -> std::string {
    for (const std::string &name : names)
      if (!llvm::is_contained(passNames, name))
        return "'" + name + "'" + didYouMean(name, passNames) + " (--list-passes shows all)";
    return {};
  };
  if (std::string unknown = findUnknown(*&flags.printIrBefore); !unknown.empty())
    return reportUsage(kTool, "--print-ir-before got the unknown pass " + unknown);
  if (std::string unknown = findUnknown(*&flags.printIrAfter); !unknown.empty())
    return reportUsage(kTool, "--print-ir-after got the unknown pass " + unknown);
  return kDone;
}

int main(int argc, char **argv) {
  removeForeignOptions();
  OptFlags flags;
  if (!parseCommandLine(argc, argv, "qfx-opt: runs quantization passes over a .qfx model\n"))
    return kBadUsage;
  if (int code = checkChoices(flags))
    return code;
  if (llvm::Error err = llvm::joinErrors(llvm::joinErrors(setLogLevels(flags.log), selectIsa(flags.isa)), checkThreads(flags.threads))) {
    reportError(kTool, std::move(err));
    return kBadUsage;
  }
  if (std::vector<const ListInfo *> lists = flags.getLists(); !lists.empty()) {
    printLists(llvm::outs(), lists, flags.json);
    return finishOutput(kTool, kDone);
  }
  if (flags.json)
    return reportUsage(kTool, "--json is the form of a list: give one of the --list flags");
  if (!flags.printBackend.empty())
    return finishOutput(kTool, printBackend(kTool, flags.printBackend));
  if (!flags.checkBackend.empty())
    return finishOutput(kTool, checkBackend(kTool, flags.checkBackend));
  if (!flags.checkQConfig.empty())
    return finishOutput(kTool, checkQConfig(kTool, flags.checkQConfig));
  if (!flags.printDocs.empty())
    return finishOutput(kTool, printDocs(kTool, flags.printDocs));
  return finishOutput(kTool, runTool(flags));
}
