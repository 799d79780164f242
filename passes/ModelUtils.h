// torch.ao.quantization.utils about whole models: example inputs of every module, members by dotted name.
#ifndef PASSES_MODELUTILS_H
#define PASSES_MODELUTILS_H

#include "backends/runtime/Program.h"
#include "ir/GraphModule.h"

#include "llvm/Support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace qfx {

/// Positional and keyword arguments of one call, keyword arguments in the order of the forward signature, what was not given by its default.
using ExampleInputs = std::vector<Value>;

/// get_fqn_to_example_inputs: runs the model on `inputs` and notes what each called module received, in order of first calls; "" is the model
/// itself.  Of several calls of a module the last one counts.  Containers whose code was inlined are not called and have no entry.
/// Errors: those of Program::compile and run; a call with a value that is neither tensor, number, string nor None (`example_input`).
llvm::Expected<std::vector<std::pair<std::string, ExampleInputs>>> getFqnToExampleInputs(const GraphModule &model,
                                                                                        const NamedTensors &inputs);

/// What a dotted name of a model leads to: exactly one of the three is set.
struct ModelMember {
  ModuleRef module;
  const Tensor *tensor = nullptr;      ///< a parameter or buffer
  const Argument *attribute = nullptr; ///< an attribute, defaults included
};

/// getattr_from_fqn: the member at a dotted name, "" not included.  Errors: nothing is there (`model_member`), with the nearest module path.
llvm::Expected<ModelMember> getattrFromFqn(const GraphModule &model, llvm::StringRef fqn);

} // namespace qfx

#endif // PASSES_MODELUTILS_H
