// The cases of test/golden/runtime: models with inputs and PyTorch's outputs (make_runtime.py).
#ifndef TEST_UNIT_BACKENDS_RUNTIME_GOLDENCASES_H
#define TEST_UNIT_BACKENDS_RUNTIME_GOLDENCASES_H

#include "backends/runtime/Program.h"
#include "ir/GraphModule.h"
#include "ir/Tensor.h"

#include <string>
#include <utility>
#include <vector>

namespace qfx::test {

/// Names of all cases with that prefix, sorted.
std::vector<std::string> getCaseNames(const std::string &prefix);

/// The case's model; fails the test if it does not load.
GraphModule loadCase(const std::string &name);

/// Tensors of the case under `in` or `out`, by their last name part; `out` of a quantized result carries its quantizer.
NamedTensors getCaseTensors(const std::string &name, const std::string &side);

/// The text of an error, or "" if there is none.
std::string toText(llvm::Error err);

} // namespace qfx::test

#endif // TEST_UNIT_BACKENDS_RUNTIME_GOLDENCASES_H
