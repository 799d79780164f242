// Feeds batches to a program whose observers write into the model.
#include "passes/calibrate/Calibrate.h"

#include "backends/observe/Observer.h"
#include "backends/runtime/Program.h"
#include "ir/weights/MappedFile.h"
#include "passes/PassRegistry.h"
#include "passes/calibrate/JoinedRanges.h"

#include "llvm/ADT/ScopeExit.h"

namespace qfx {

static bool hasObservers(const GraphModule &model) {
  for (const Node &node : model.getGraph().nodes())
    if (node.is(Opcode::CallModule))
      if (ModuleRef module = model.getModule(node); module && isObserver(*module))
        return true;
  return false;
}

/// Adds to each diagnostic which batch it is about.
static llvm::Error inBatch(llvm::Error err, size_t index, size_t count) {
  std::vector<Diagnostic> diagnostics = takeDiagnostics(std::move(err));
  for (Diagnostic &diagnostic : diagnostics)
    diagnostic.message += count ? llvm::formatv(", in calibration batch {0} of {1}", index, count).str()
                                : llvm::formatv(", in calibration batch {0}", index).str();
  return llvm::make_error<InputError>(std::move(diagnostics));
}

namespace {
/// Which observers meet infinities or NaN, and in which batch first.
class NonFiniteReport {
public:
  explicit NonFiniteReport(const GraphModule &model) {
    for (const Node &node : model.getGraph().nodes())
      if (ModuleRef module = node.is(Opcode::CallModule) ? model.getModule(node) : nullptr; module && isObserver(*module))
        entries.push_back({&node, module, getNonFiniteCounts(*module), std::nullopt});
  }

  void look(size_t batch) {
    for (Entry &entry : entries)
      if (!entry.firstBatch && getIncrease(entry).any())
        entry.firstBatch = batch;
  }

  void warn(PassContext &context) const {
    for (const Entry &entry : entries) {
      if (!entry.firstBatch)
        continue;
      const Node *observed = entry.call->getArgs().empty() ? nullptr : entry.call->getArg(0).getNodeOrNull();
      NonFiniteCounts counts = getIncrease(entry);
      context.warn(error(entry.call->getLoc(), "'{0}' had {1} infinite and {2} NaN values, first in calibration batch {3}",
                         observed ? observed->getName() : entry.call->getName(), counts.numInfinite, counts.numNaN, *entry.firstBatch)
                       .code("calibrate_nonfinite")
                       .take());
    }
  }

private:
  struct Entry {
    const Node *call;
    ModuleRef observer;
    NonFiniteCounts before;
    std::optional<size_t> firstBatch;
  };

  static NonFiniteCounts getIncrease(const Entry &entry) {
    NonFiniteCounts now = getNonFiniteCounts(*entry.observer);
    return {now.numInfinite - entry.before.numInfinite, now.numNaN - entry.before.numNaN};
  }

  std::vector<Entry> entries;
};
} // namespace

/// \param total  number of batches, 0 if it is not known.
static llvm::Error run(GraphModule &model, const BatchSource &next, size_t total, PassContext &context) {
  if (!hasObservers(model))
    context.warn(error(model.getRoot().getLoc(), "the model has no observers: calibration changes nothing (prepare comes first)")
                     .code("calibrate_unobserved")
                     .take());
  ProgramOptions options;
  options.threads = static_cast<int>(context.numThreads);
  options.observe = true;
  NonFiniteReport report(model);
  JoinedRanges ranges(model);
  auto warnAtEnd = llvm::make_scope_exit([&] {
    report.warn(context);
    ranges.warn(context);
  });
  auto program = Program::compile(ranges.getModel(), options);
  if (!program)
    return program.takeError();
  for (size_t i = 0;; ++i) {
    auto batch = next();
    if (!batch)
      return batch.takeError();
    if (!*batch)
      return i ? llvm::Error::success() : llvm::Error(error({}, "there are no calibration batches").code("calibrate_empty"));
    auto outputs = (*program)->run((*batch)->tensors);
    report.look(i);
    for (const auto &entry : (*batch)->tensors)
      releasePages(entry.second); // so that memory does not grow with the number of batches
    if (!outputs)
      return inBatch(outputs.takeError(), i, total);
    if (llvm::Error err = context.checkCancelled("calibrate"))
      return err;
    if (context.onProgress && !context.onProgress(i + 1, total))
      return error({}, "calibration was cancelled after {0} batches", i + 1).code("calibrate_cancelled");
  }
}

llvm::Error calibrate(GraphModule &model, llvm::ArrayRef<InputBatch> batches, PassContext &context) {
  if (batches.empty())
    return error({}, "there are no calibration batches").code("calibrate_empty");
  size_t index = 0;
  BatchSource next = [&]() -> llvm::Expected<std::optional<InputBatch>> {
    return index < batches.size() ? std::optional<InputBatch>(batches[index++]) : std::nullopt;
  };
  return run(model, next, batches.size(), context);
}

llvm::Error calibrate(GraphModule &model, const BatchSource &source, PassContext &context) { return run(model, source, 0, context); }

namespace {
struct CalibratePass final : Pass {
  llvm::Expected<bool> run(GraphModule &model, PassContext &context) override {
    if (llvm::Error err = calibrate(model, context.calibrationData, context))
      return err;
    return true;
  }
};
} // namespace

std::unique_ptr<Pass> createCalibrate(const PassOptions &) { return std::make_unique<CalibratePass>(); }

} // namespace qfx
