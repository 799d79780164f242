// Printing the model between passes, and the summaries after a pipeline.
#include "tools/opt/Instrumentation.h"

#include "ir/Ops.h"
#include "ir/text/QfxText.h"
#include "ir/weights/MappedFile.h"
#include "tools/common/Tool.h"
#include "tools/opt/OptFlags.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace qfx::tool {

void DiagnosticSink::add(Diagnostic diagnostic) {
  if (printNow)
    reportWarning(toolName, diagnostic);
  else
    kept.push_back(std::move(diagnostic));
}

void DiagnosticSink::add(llvm::Error err) {
  if (err)
    for (Diagnostic &diagnostic : takeDiagnostics(std::move(err)))
      add(std::move(diagnostic));
}

/// For reading: large tensors as digests.
static std::string printForReading(const GraphModule &model) {
  std::string text;
  llvm::raw_string_ostream os(text);
  PrintOptions options;
  options.large = PrintOptions::Large::Digest;
  options.maxInlineElements = 16;
  printQfx(os, model, options);
  return os.str();
}

/// Lines of `after` that `before` lacks with '+', and the reverse with '-', in order of appearance.
static void printLineDiff(llvm::raw_ostream &os, llvm::StringRef before, llvm::StringRef after) {
  llvm::SmallVector<llvm::StringRef, 0> oldLines, newLines;
  before.split(oldLines, '\n');
  after.split(newLines, '\n');
  llvm::StringSet<> oldSet, newSet;
  for (llvm::StringRef line : oldLines)
    oldSet.insert(line);
  for (llvm::StringRef line : newLines)
    newSet.insert(line);
  for (llvm::StringRef line : oldLines)
    if (!newSet.contains(line))
      os << "-" << line << '\n';
  for (llvm::StringRef line : newLines)
    if (!oldSet.contains(line))
      os << "+" << line << '\n';
}

namespace {
class IrPrinter final : public PassInstrumentation {
public:
  IrPrinter(const OptFlags &flags, llvm::raw_ostream &os) : flags(flags), os(os) {}

  void runBeforePass(const PassRun &run, const GraphModule &model) override {
    if (flags.printIrBeforeAll || llvm::is_contained(flags.printIrBefore, run.name))
      os << "// ----- before " << run.text << '\n' << printForReading(model);
    if (flags.printIrAfterChange == "diff")
      textBefore = printForReading(model);
  }

  void runAfterPass(const PassRun &run, const GraphModule &model) override {
    bool onChange = flags.printIrAfterChange.getNumOccurrences() && run.changed;
    if (flags.printIrAfterAll || llvm::is_contained(flags.printIrAfter, run.name) || (onChange && flags.printIrAfterChange.empty()))
      os << "// ----- after " << run.text << '\n' << printForReading(model);
    if (onChange && flags.printIrAfterChange == "diff") {
      os << "// ----- changed by " << run.text << '\n';
      printLineDiff(os, textBefore, printForReading(model));
    }
    if (!flags.printIrTo.empty())
      writeStep(run, model);
  }

  void runAfterFailure(const PassRun &run, const GraphModule &model) override {
    if (flags.printIrAfterFailure)
      os << "// ----- after failed " << run.text << '\n' << printForReading(model);
  }

private:
  void writeStep(const PassRun &run, const GraphModule &model) {
    llvm::sys::fs::create_directories(flags.printIrTo);
    std::string path = llvm::formatv("{0}/{1}-{2}.qfx", flags.printIrTo.getValue(), (run.index < 9 ? "0" : "") + std::to_string(run.index + 1), run.name).str();
    if (llvm::Error err = saveModel(model, path))
      reportError("qfx-opt", std::move(err));
  }

  const OptFlags &flags;
  llvm::raw_ostream &os;
  std::string textBefore;
};

/// Keeps the model as it was before each pass, and writes it with the remaining pipeline if the pass fails.
class ReproducerWriter final : public PassInstrumentation {
public:
  ReproducerWriter(const OptFlags &flags, const PassManager &manager)
      : path(flags.reproducer), contextFlags(flags.getContextFlags()), manager(manager) {}

  void runBeforePass(const PassRun &run, const GraphModule &model) override {
    modelBefore.clear();
    llvm::raw_string_ostream os(modelBefore);
    printQfx(os, model);
    os.flush();
  }

  void runAfterFailure(const PassRun &run, const GraphModule &) override {
    llvm::Error err = writeFileAtomically(path, [&](llvm::raw_ostream &os) {
      // The version line must come first; the command stands below it as a comment.
      auto [version, rest] = llvm::StringRef(modelBefore).split('\n');
      os << version << "\n# reproduce with: qfx-opt -p '" << manager.getRemainingPipeline(run.index) << '\'' << contextFlags << ' ' << path
         << '\n'
         << rest;
    });
    if (err)
      reportError("qfx-opt", std::move(err));
    else
      llvm::errs() << "qfx-opt: the failing step is in '" << path << "'\n";
  }

private:
  std::string path, contextFlags, modelBefore;
  const PassManager &manager;
};
} // namespace

void addInstrumentations(PassManager &manager, const OptFlags &flags, llvm::raw_ostream &log) {
  manager.addInstrumentation(std::make_shared<IrPrinter>(flags, log));
  if (!flags.reproducer.empty())
    manager.addInstrumentation(std::make_shared<ReproducerWriter>(flags, manager));
}

OpCounts countOps(const GraphModule &model) {
  OpCounts result;
  for (const Node &node : model.getGraph().nodes()) {
    if (node.is(Opcode::CallModule)) {
      if (ModuleRef module = model.getModule(node))
        ++result.counts[module->getClassName()];
    } else if (node.is(Opcode::CallFunction) || node.is(Opcode::CallMethod)) {
      ++result.counts[node.getTargetText().str()];
    }
  }
  llvm::SmallPtrSet<const Module *, 32> seen;
  llvm::SmallPtrSet<const std::byte *, 32> seenBytes; // tied tensors count once
  auto add = [&](const Module &module) {
    for (const auto *named : {&module.getParameters(), &module.getBuffers()})
      for (const auto &[name, tensor] : *named)
        if (tensor && seenBytes.insert(tensor.getBytes()).second)
          result.weightBytes += tensor.getSizeBytes();
  };
  add(model.getRoot());
  model.getRoot().forEachModule([&](const std::string &, const ModuleRef &module) {
    if (seen.insert(module.get()).second)
      add(*module);
  });
  return result;
}

static std::string formatBytes(uint64_t bytes) {
  double value = static_cast<double>(bytes);
  if (bytes < 10000)
    return llvm::formatv("{0} B", bytes).str();
  return value < 1e6 ? llvm::formatv("{0:f1} kB", value / 1e3).str() : llvm::formatv("{0:f1} MB", value / 1e6).str();
}

void printStats(llvm::raw_ostream &os, const OpCounts &before, const OpCounts &after) {
  auto printRow = [&](llvm::StringRef name, const std::string &a, const std::string &b) {
    os << llvm::formatv("{0,-52}{1,10}{2,10}\n", name, a, b);
  };
  printRow("op", "before", "after");
  std::map<std::string, std::pair<unsigned, unsigned>> rows;
  for (const auto &[name, count] : before.counts)
    rows[name].first = count;
  for (const auto &[name, count] : after.counts)
    rows[name].second = count;
  for (const auto &[name, counts] : rows)
    printRow(name, std::to_string(counts.first), std::to_string(counts.second));
  printRow("weights", formatBytes(before.weightBytes), formatBytes(after.weightBytes));
}

void printTiming(llvm::raw_ostream &os, llvm::ArrayRef<PassRun> runs, const FileTimes &files, llvm::StringRef form) {
  uint64_t totalNs = files.loadNs + files.saveNs;
  for (const PassRun &run : runs)
    totalNs += run.timeNs + run.verifyNs;
  if (form == "json") {
    llvm::json::Array rows;
    for (const PassRun &run : runs)
      rows.push_back(llvm::json::Object{{"pass", run.text}, {"time_ns", int64_t(run.timeNs)}, {"verify_ns", int64_t(run.verifyNs)}});
    os << llvm::json::Value(llvm::json::Object{{"total_ns", int64_t(totalNs)},
                                               {"load_ns", int64_t(files.loadNs)},
                                               {"passes", std::move(rows)},
                                               {"save_ns", int64_t(files.saveNs)}})
       << '\n';
    return;
  }
  auto printRow = [&](llvm::StringRef name, uint64_t timeNs) {
    os << llvm::formatv("{0,-40}{1,10:f3} ms{2,7:f1} %\n", name, double(timeNs) / 1e6, totalNs ? 100.0 * double(timeNs) / double(totalNs) : 0.0);
  };
  auto makeRow = [](llvm::StringRef name, uint64_t timeNs) {
    PassRun row;
    row.text = name.str();
    row.timeNs = timeNs;
    return row;
  };
  std::vector<PassRun> shown{makeRow("(load)", files.loadNs)};
  shown.insert(shown.end(), runs.begin(), runs.end());
  shown.push_back(makeRow("(save)", files.saveNs));
  bool isTree = form == "tree";
  if (!isTree)
    llvm::stable_sort(shown, [](const PassRun &a, const PassRun &b) { return a.timeNs > b.timeNs; });
  for (const PassRun &run : shown) {
    printRow(run.text, run.timeNs);
    if (isTree && run.verifyNs)
      printRow("  verify", run.verifyNs);
  }
  printRow("total", totalNs);
}

} // namespace qfx::tool
