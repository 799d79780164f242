// Timing of a program: latency, per-node profile, memory.
#ifndef TOOLS_RUN_BENCHMARK_H
#define TOOLS_RUN_BENCHMARK_H

#include "backends/runtime/Program.h"
#include "ir/weights/InputSet.h"

#include "llvm/Support/Error.h"

namespace llvm {
class raw_ostream;
}

namespace qfx::tool {

struct Latency {
  double medianMs = 0, minMs = 0;
  unsigned repeats = 0;
};

/// Runs the first batch `repeats` times after a warm-up (0: for about a second, at least 5 times).
llvm::Expected<Latency> measureLatency(Program &program, const InputBatch &batch, unsigned repeats);

/// Times per node, slowest first; as JSON if asked.
void printProfile(llvm::raw_ostream &os, const Program &program, bool asJson);

/// Highest resident memory of this process so far, in bytes; 0 if the system does not tell.
int64_t getPeakMemoryBytes();

} // namespace qfx::tool

#endif // TOOLS_RUN_BENCHMARK_H
