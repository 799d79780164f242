// Does a lowered graph compute what its reference graph computes?  Asked node for node, each on the lowered run's own values.
#ifndef TEST_FUZZ_COMPARE_H
#define TEST_FUZZ_COMPARE_H

#include "backends/runtime/Program.h"

#include <string>

namespace qfx::fuzz {

/// Runs the lowered graph and keeps every value.  Each node of the reference graph that has a counterpart is then computed from the values that
/// the lowered graph has in its operands' places (its codes, dequantized), and must give the counterpart's codes within one step of the coarser of
/// the two scales (or what binary32 can tell of the operands, if that is more), floats within a five-hundredth of the largest.  So nothing that one
/// node does differently adds up in the next ones.
/// Results must be the values of their counterparts, to the bit.
/// \returns  the first difference, or "".
std::string compareRuns(const GraphModule &reference, const GraphModule &lowered, const NamedTensors &inputs, const std::string &engine);

} // namespace qfx::fuzz

#endif // TEST_FUZZ_COMPARE_H
