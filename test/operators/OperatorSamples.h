// One or more calls of every operator of the target table, taken from test/ir/ops, with operands that can be exchanged.
#ifndef TEST_OPERATORS_OPERATORSAMPLES_H
#define TEST_OPERATORS_OPERATORSAMPLES_H

#include "backends/runtime/Program.h"
#include "ir/Ops.h"

#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace qfx::test {

/// `f32[2, 3]{...}` in its parts.
struct TypeText {
  std::string dtype;
  std::vector<std::string> sizes;
  std::string suffix; ///< "{...}" or empty
  std::string get() const;
};
TypeText splitType(const std::string &text);

/// A model with one call of interest; everything it needs and nothing else.
struct Sample {
  const OpInfo *op = nullptr;
  std::string target; ///< the spelling
  std::vector<std::string> declarations; ///< module, parameter and buffer lines
  std::vector<std::pair<std::string, TypeText>> inputs;
  std::vector<std::string> lines; ///< the calls, the one of interest last
  std::string result;             ///< the name of its node

  std::string getText() const;
};

/// The samples of an operator, one for each spelling that test/ir/ops has; empty if it has no file.
std::vector<Sample> getSamples(const OpInfo &op);

/// Values that the tensor's kind can hold without meaning harm: small floats, indices 0 and 1, any code.
Tensor makeValues(const TensorType &type, uint64_t seed);

/// Parses, fills the declared tensors with such values, compiles.
llvm::Expected<std::unique_ptr<Program>> compileSample(const Sample &sample, const ProgramOptions &options = {});

/// Runs with such values.  \param model  the sample's text parsed, for the types of its inputs.
llvm::Expected<std::vector<Tensor>> runSample(Program &program, const Sample &sample);

} // namespace qfx::test

#endif // TEST_OPERATORS_OPERATORSAMPLES_H
