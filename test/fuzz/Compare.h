// Runs a reference graph and the graph it was lowered to and compares the results in steps of their scales.
#ifndef TEST_FUZZ_COMPARE_H
#define TEST_FUZZ_COMPARE_H

#include "backends/runtime/Program.h"

#include <string>

namespace qfx::fuzz {

/// \returns  where the results differ by more than a step, or "".
std::string compareRuns(const GraphModule &reference, const GraphModule &lowered, const NamedTensors &inputs, const std::string &engine);

} // namespace qfx::fuzz

#endif // TEST_FUZZ_COMPARE_H
