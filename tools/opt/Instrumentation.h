// What qfx-opt can show of a running pipeline: the model between passes, times, operator counts.
#ifndef TOOLS_OPT_INSTRUMENTATION_H
#define TOOLS_OPT_INSTRUMENTATION_H

#include "ir/Diagnostics.h"
#include "passes/PassManager.h"

#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace qfx::tool {

struct OptFlags;

/// Warnings and remarks as they come: printed at once, or kept for --verify-diagnostics.
class DiagnosticSink {
public:
  DiagnosticSink(llvm::StringRef toolName, bool printNow) : toolName(toolName), printNow(printNow) {}
  void add(Diagnostic diagnostic);
  void add(llvm::Error err);
  const std::vector<Diagnostic> &getDiagnostics() const { return kept; }

private:
  llvm::StringRef toolName;
  bool printNow;
  std::vector<Diagnostic> kept;
};

/// Adds what --print-ir-*, --print-ir-to and --reproducer ask for.
void addInstrumentations(PassManager &manager, const OptFlags &flags, llvm::raw_ostream &log);

/// Calls per operator or module class, and the bytes of all parameters and buffers that the graph reaches.
struct OpCounts {
  std::map<std::string, unsigned> counts;
  uint64_t weightBytes = 0;
};
OpCounts countOps(const GraphModule &model);
/// A table of the rows that differ, then the weights.
void printStats(llvm::raw_ostream &os, const OpCounts &before, const OpCounts &after);

/// What the tool does around the passes.
struct FileTimes {
  uint64_t loadNs = 0; ///< reading the configurations and the model, with the verifier
  uint64_t saveNs = 0; ///< printing and writing; weights that no pass needed are computed here (Tensor::computed)
};

/// `form` is list (or empty: slowest first), tree (in order, with the verifier below) or json.
void printTiming(llvm::raw_ostream &os, llvm::ArrayRef<PassRun> runs, const FileTimes &files, llvm::StringRef form);

} // namespace qfx::tool

#endif // TOOLS_OPT_INSTRUMENTATION_H
