// Quantizes a model statically and runs it, all through the library.
// usage: quantize model.qfx calibration.safetensors inputs.safetensors
#include <qfx/qfx.h>

#include "llvm/Support/raw_ostream.h"

using namespace qfx;

/// Loads, prepares, calibrates, converts and runs; any error comes back with the place it is about.
static llvm::Error quantizeAndRun(llvm::StringRef modelPath, llvm::StringRef calibrationPath, llvm::StringRef inputPath) {
  auto model = loadModel(modelPath);
  auto calibration = loadInputs(calibrationPath);
  auto inputs = loadInputs(inputPath);
  if (!model || !calibration || !inputs)
    return llvm::joinErrors(model.takeError(), llvm::joinErrors(calibration.takeError(), inputs.takeError()));

  PassContext context;
  context.backend = *getBuiltinBackendConfig("x86");
  context.onRemark = [](const Remark &remark) {
    if (remark.kind == Remark::Kind::Missed) // a layer that stays float, and why
      printDiagnostic(llvm::errs(), remark.diagnostic);
  };

  auto mapping = getDefaultQConfigMapping("x86");
  if (!mapping)
    return mapping.takeError();
  PrepareOptions options;
  options.mapping = std::move(*mapping);
  auto prepared = prepareFx(std::move(*model), options, context);
  if (!prepared)
    return prepared.takeError();
  if (llvm::Error err = calibrate(*prepared, *calibration, context))
    return err;
  auto quantized = convertFx(std::move(*prepared), context);
  if (!quantized)
    return quantized.takeError();

  auto program = Program::compile(*quantized);
  if (!program)
    return program.takeError();
  for (const InputBatch &batch : *inputs) {
    auto outputs = (*program)->run(batch.tensors);
    if (!outputs)
      return outputs.takeError();
    for (const NamedValue &output : *outputs)
      llvm::outs() << output.name << "  " << toString(output.value.tensor.getType()) << '\n';
  }
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  if (argc != 4) {
    llvm::errs() << "usage: quantize model.qfx calibration.safetensors inputs.safetensors\n";
    return 2;
  }
  if (llvm::Error err = quantizeAndRun(argv[1], argv[2], argv[3])) {
    for (const Diagnostic &diagnostic : takeDiagnostics(std::move(err)))
      printDiagnostic(llvm::errs(), diagnostic);
    return 1;
  }
  return 0;
}
