// The loop around the passes.
#include "passes/PassManager.h"

#include "ir/Infer.h"
#include "ir/verify/Verifier.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <chrono>

namespace qfx {

void PassManager::add(const PipelineStep &step) {
  passes.push_back({step.info->create(step.options), step.info->name.str(), step.toString()});
}

void PassManager::add(llvm::ArrayRef<PipelineStep> steps) {
  for (const PipelineStep &step : steps)
    add(step);
}

void PassManager::add(std::unique_ptr<Pass> pass, llvm::StringRef name) {
  passes.push_back({std::move(pass), name.str(), name.str()});
}

void PassManager::addInstrumentation(std::shared_ptr<PassInstrumentation> instrumentation) {
  instrumentations.push_back(std::move(instrumentation));
}

uint64_t getClockNs() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

llvm::Error PassManager::verifyAfter(PassRun &run, const GraphModule &model) const {
  if (!verifyEach)
    return llvm::Error::success();
  uint64_t start = getClockNs();
  llvm::Error err = verify(model);
  run.verifyNs = getClockNs() - start;
  if (!err)
    return err;
  std::vector<Diagnostic> diagnostics = takeDiagnostics(std::move(err));
  for (Diagnostic &diagnostic : diagnostics) {
    Diagnostic note;
    note.severity = Severity::Note;
    note.message = llvm::formatv("found by the verifier after the pass '{0}'", run.name);
    diagnostic.notes.push_back(std::move(note));
  }
  return llvm::make_error<InputError>(std::move(diagnostics));
}

/// The first thing that type inference finds wrong in `model`; nothing where some input declares no type.
static std::optional<Diagnostic> findTypeError(const GraphModule &model) {
  for (const Node &node : model.getGraph().nodes())
    if (node.is(Opcode::Placeholder) && !node.getType())
      return std::nullopt;
  auto types = inferTypes(model);
  if (types)
    return std::nullopt;
  return std::move(takeDiagnostics(types.takeError()).front());
}

llvm::Error PassManager::run(GraphModule &model, PassContext &context) {
  const bool fits = !passes.empty() && !findTypeError(model);
  if (llvm::Error err = runPasses(model, context))
    return err;
  std::optional<Diagnostic> misfit = fits && llvm::any_of(runs, [](const PassRun &run) { return run.changed; }) ? findTypeError(model) : std::nullopt;
  if (!misfit)
    return llvm::Error::success();
  misfit->message = "the model that the passes leave does not run: " + misfit->message;
  if (context.strict)
    return llvm::make_error<InputError>(std::move(*misfit));
  context.warn(std::move(*misfit));
  return llvm::Error::success();
}

llvm::Error PassManager::runPasses(GraphModule &model, PassContext &context) {
  runs.clear();
  for (size_t index = 0; index < passes.size(); ++index) {
    Entry &entry = passes[index];
    if (llvm::Error err = context.checkCancelled(entry.name))
      return err;
    PassRun run;
    run.index = index;
    run.name = entry.name;
    run.text = entry.text;
    for (const auto &watcher : instrumentations)
      watcher->runBeforePass(run, model);
    uint64_t start = getClockNs();
    llvm::Expected<bool> changed = entry.pass->run(model, context);
    run.timeNs = getClockNs() - start;
    llvm::Error err = changed ? llvm::Error::success() : changed.takeError();
    if (!err) {
      run.changed = *changed;
      err = verifyAfter(run, model);
    }
    runs.push_back(run);
    for (const auto &watcher : instrumentations) {
      if (err)
        watcher->runAfterFailure(run, model);
      else
        watcher->runAfterPass(run, model);
    }
    if (err)
      return err;
  }
  return llvm::Error::success();
}

std::string PassManager::getRemainingPipeline(size_t index) const {
  std::string text;
  for (; index < passes.size(); ++index)
    text += (text.empty() ? "" : ",") + passes[index].text;
  return text;
}

} // namespace qfx
