// Runs a pipeline of passes: parsing its text, order, verification, timing, and hooks for whoever wants to watch.
#ifndef PASSES_PASSMANAGER_H
#define PASSES_PASSMANAGER_H

#include "passes/Pass.h"
#include "passes/PassRegistry.h"

#include <memory>
#include <string>
#include <vector>

namespace qfx {

/// One pass of a pipeline with its options.
struct PipelineStep {
  const PassInfo *info;
  PassOptions options;

  std::string toString() const { return info->name.str() + options.toString(); }
};

/// Parses `fuse,prepare{mode=qat input-quantized-indexes=[0]},...`; named pipelines are expanded in place.
/// Errors carry a place in a text called `name`, so that a tool can print the string with a caret: unknown pass
/// (`pipeline_pass`), unknown option (`pipeline_option`), bad value (`pipeline_value`), anything else
/// (`pipeline_syntax`).
llvm::Expected<std::vector<PipelineStep>> parsePipeline(llvm::StringRef text, llvm::StringRef name = "pipeline");

/// The text that parses back to these steps, named pipelines expanded.
std::string printPipeline(llvm::ArrayRef<PipelineStep> steps);

/// A clock for durations, in nanoseconds.
uint64_t getClockNs();

/// What is known of one pass while and after it runs.
struct PassRun {
  size_t index = 0;      ///< position in the pipeline, from 0
  std::string name;      ///< "prepare"
  std::string text;      ///< "prepare{mode=qat}"
  bool changed = false;  ///< set after the run
  uint64_t timeNs = 0;   ///< of the pass
  uint64_t verifyNs = 0; ///< of the verifier after it
};

/// Watches a pipeline.  Hooks see the model read-only; none is called for passes that follow a failed one.
class PassInstrumentation {
public:
  virtual ~PassInstrumentation() = default;
  virtual void runBeforePass(const PassRun &run, const GraphModule &model) {}
  virtual void runAfterPass(const PassRun &run, const GraphModule &model) {}
  /// The pass, or the verifier after it, failed; the model is as the pass left it.
  virtual void runAfterFailure(const PassRun &run, const GraphModule &model) {}
};

class PassManager {
public:
  void add(const PipelineStep &step);
  void add(llvm::ArrayRef<PipelineStep> steps);
  /// A pass made by the caller; `text` names it in messages.
  void add(std::unique_ptr<Pass> pass, llvm::StringRef name);
  void addInstrumentation(std::shared_ptr<PassInstrumentation> instrumentation);
  /// On by default: the verifier runs after every pass, and its errors get a note that names the pass.
  void setVerifyEach(bool on) { verifyEach = on; }

  bool empty() const { return passes.empty(); }
  size_t size() const { return passes.size(); }

  /// Runs the passes in order and stops at the first error, or before a pass when context.isCancelled says so (`cancelled`).  A model whose
  /// types fitted before and do not after the last pass gets a warning, under context.strict an error, with the rule of what does not fit.
  llvm::Error run(GraphModule &model, PassContext &context);

  /// The passes that ran so far, the failed one included.
  llvm::ArrayRef<PassRun> getRuns() const { return runs; }
  /// Texts of the passes from `index` on: what is left to do after a failure.
  std::string getRemainingPipeline(size_t index) const;

private:
  struct Entry {
    std::unique_ptr<Pass> pass;
    std::string name, text;
  };
  llvm::Error runPasses(GraphModule &model, PassContext &context);
  llvm::Error verifyAfter(PassRun &run, const GraphModule &model) const;

  std::vector<Entry> passes;
  std::vector<std::shared_ptr<PassInstrumentation>> instrumentations;
  std::vector<PassRun> runs;
  bool verifyEach = true;
};

} // namespace qfx

#endif // PASSES_PASSMANAGER_H
