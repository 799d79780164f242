// The value of a node that no input of the model feeds.
#ifndef PASSES_CONSTANTVALUE_H
#define PASSES_CONSTANTVALUE_H

#include "ir/GraphModule.h"
#include "passes/Pass.h"

#include "llvm/Support/Error.h"

namespace qfx {

/// Runs `node` and what it is computed from, as PyTorch runs the sub-graph of a weight (workflow 5.2 step 4, 6.7); a get_attr is only looked up.
/// \param observe  observers on the way, `node` itself included, see their values and update their buffers in the model.
/// Errors: a placeholder above it, no tensor at the attribute, a result that is no tensor (`constant_value`); those of Program.
llvm::Expected<Tensor> evaluateConstant(const GraphModule &model, Node &node, const PassContext &context, bool observe = false);

} // namespace qfx

#endif // PASSES_CONSTANTVALUE_H
