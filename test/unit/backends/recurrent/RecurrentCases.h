// Golden cases as texts: models whose weights and inputs are random(seed), and PyTorch's outputs (make_recurrent.py).
#ifndef TEST_UNIT_BACKENDS_RECURRENT_RECURRENTCASES_H
#define TEST_UNIT_BACKENDS_RECURRENT_RECURRENTCASES_H

#include "backends/runtime/Program.h"
#include "ir/Tensor.h"

#include <string>
#include <vector>

namespace qfx::test {

struct TextCase {
  std::string name, text;
  NamedTensors inputs, outputs;
};

/// All cases of `cases.json` and `outputs.safetensors` in a folder of test/golden.
std::vector<TextCase> loadTextCases(const std::string &folder);

/// Parses, compiles and runs; fails the test on an error.
std::vector<NamedValue> runText(const std::string &text, const NamedTensors &inputs,
                                const ProgramOptions &options = {});

/// The largest difference of an output, relative to the largest expected magnitude; fails the test if an output is
/// missing, or has another dtype or shape.
double getWorstError(const std::vector<NamedValue> &outputs, const NamedTensors &expected);

} // namespace qfx::test

#endif // TEST_UNIT_BACKENDS_RECURRENT_RECURRENTCASES_H
