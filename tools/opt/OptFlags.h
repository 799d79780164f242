// The command line of qfx-opt.
#ifndef TOOLS_OPT_OPTFLAGS_H
#define TOOLS_OPT_OPTFLAGS_H

#include "passes/PassManager.h"
#include "tools/opt/Lists.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CommandLine.h"

#include <memory>
#include <string>
#include <vector>

namespace qfx::tool {

/// Every flag, in the groups of --help.  One flag per row of Passes.def is made from the table.
struct OptFlags {
  OptFlags();

  llvm::cl::OptionCategory io{"1. Input/output"}, passes{"2. Passes"}, quantization{"3. Quantization"}, inspection{"4. Inspection"},
      testing{"5. Testing"}, logging{"6. Logging"};

  llvm::cl::opt<std::string> input, output, emitForm, emitInner;
  llvm::cl::opt<bool> printWeights;

  llvm::cl::opt<std::string> pipeline;
  llvm::cl::alias pipelineAlias;
  std::vector<std::unique_ptr<llvm::cl::list<std::string>>> passFlags; ///< parallel to getFlagNames()

  llvm::cl::opt<std::string> quantize, backend, engine, qconfig, customConfig;
  llvm::cl::list<std::string> calibrate;
  llvm::cl::opt<bool> strict, allowUnmatched, allowUncalibrated, splitOutputs;
  llvm::cl::opt<unsigned> threads;

  llvm::cl::opt<std::string> remarks, timing;
  llvm::cl::opt<bool> coverage;
  llvm::cl::list<std::string> printIrBefore, printIrAfter;
  llvm::cl::opt<bool> printIrBeforeAll, printIrAfterAll, printIrAfterFailure, stats, printPipeline;
  llvm::cl::opt<std::string> printIrAfterChange, printIrTo, reproducer;
  std::vector<std::unique_ptr<llvm::cl::opt<bool>>> listFlags; ///< parallel to getAllLists()
  llvm::cl::opt<bool> json;
  llvm::cl::opt<std::string> printBackend, checkBackend, checkQConfig, printDocs;
  llvm::cl::list<std::string> explain;

  llvm::cl::opt<bool> splitInputFile, verifyDiagnostics, verifyEach, inferTypes;
  llvm::cl::opt<std::string> isa, log;
  llvm::cl::opt<bool> quiet;
  llvm::cl::extrahelp examples;

  /// Names of the flags in `passFlags`: passes, then pipelines.
  static std::vector<llvm::StringRef> getFlagNames();
  /// The pipeline that -p, --quantize and the pass flags ask for, in the order given.  `--calibrate` adds the calibrate pass at its place
  /// unless the rest has one.
  llvm::Expected<std::vector<PipelineStep>> getSteps() const;
  /// The lists asked for, in the order of their table.
  std::vector<const ListInfo *> getLists() const;
  /// The given flags that decide what passes do (backend, engine, mapping, data, strictness), each quoted for a shell with a blank before it.
  std::string getContextFlags() const;
};

} // namespace qfx::tool

#endif // TOOLS_OPT_OPTFLAGS_H
