// The cases of test/golden/quantized: quantized operators as PyTorch 2.13 runs them.
#ifndef TEST_OPERATORS_QUANTIZEDCASES_H
#define TEST_OPERATORS_QUANTIZEDCASES_H

#include "backends/runtime/Program.h"

#include <set>
#include <string>
#include <vector>

namespace qfx::test {

struct QuantizedCase {
  std::string name, level, engine, body;
  struct Generated {
    std::string type, kind; ///< type as in .qfx text; kind and args as in golden.py
    std::vector<double> args;
    uint64_t seed = 0;
  };
  std::vector<Generated> inputs, weights;
  struct Output {
    Tensor expected;
    std::set<int64_t> ties; ///< positions where a code of level T1 may be one step off
  };
  std::vector<Output> outputs;
};

/// All cases, read once.
const std::vector<QuantizedCase> &getQuantizedCases();

/// The tensor that golden.py's `generate` makes, with the type's dtype and quantizer.
Tensor generate(const QuantizedCase::Generated &source);

/// The case's graph with its weights at the root.
llvm::Expected<GraphModule> makeModel(const QuantizedCase &one);

/// Compiles and runs.
llvm::Expected<std::vector<NamedValue>> runCase(const QuantizedCase &one, int threads);

/// The messages of an error, one a line.
std::string toText(llvm::Error err);

/// Empty if the results are PyTorch's at the case's level, else what is wrong.
std::string compareCase(const QuantizedCase &one, const std::vector<NamedValue> &results);

} // namespace qfx::test

#endif // TEST_OPERATORS_QUANTIZEDCASES_H
