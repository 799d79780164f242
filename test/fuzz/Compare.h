// Runs a reference graph and the graph it was lowered to and compares the results in steps of their scales.
#ifndef TEST_FUZZ_COMPARE_H
#define TEST_FUZZ_COMPARE_H

#include "backends/runtime/Program.h"

#include <string>

namespace qfx::fuzz {

/// \param steps  that a result may be off: more where the lowered graph keeps the coarser codes of an earlier value (propagate-int8).
/// \returns  where the results differ by more, or "".
std::string compareRuns(const GraphModule &reference, const GraphModule &lowered, const NamedTensors &inputs, const std::string &engine,
                        double steps = 1);

} // namespace qfx::fuzz

#endif // TEST_FUZZ_COMPARE_H
