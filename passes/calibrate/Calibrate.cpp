// Feeds batches to a program whose observers write into the model.
#include "passes/calibrate/Calibrate.h"

#include "backends/observe/Observer.h"
#include "backends/runtime/Program.h"
#include "passes/PassRegistry.h"

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

/// \param total  number of batches, 0 if it is not known.
static llvm::Error run(GraphModule &model, const BatchSource &next, size_t total, PassContext &context) {
  if (!hasObservers(model))
    context.warn(error(model.getRoot().getLoc(), "the model has no observers: calibration changes nothing (prepare comes first)")
                     .code("calibrate_unobserved")
                     .take());
  ProgramOptions options;
  options.threads = static_cast<int>(context.numThreads);
  options.observe = true;
  auto program = Program::compile(model, options);
  if (!program)
    return program.takeError();
  for (size_t i = 0;; ++i) {
    auto batch = next();
    if (!batch)
      return batch.takeError();
    if (!*batch)
      return i ? llvm::Error::success() : llvm::Error(error({}, "there are no calibration batches").code("calibrate_empty"));
    auto outputs = (*program)->run((*batch)->tensors);
    if (!outputs)
      return inBatch(outputs.takeError(), i, total);
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
