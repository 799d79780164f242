// Calls of modules that have a graph of their own become the nodes of that graph.
#ifndef BACKENDS_RUNTIME_INLINEGRAPHS_H
#define BACKENDS_RUNTIME_INLINEGRAPHS_H

#include "ir/GraphModule.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace qfx::runtime {

/// Replaces every call of a module with a graph (standalone modules, also nested ones) in `model`'s graph by that graph's nodes, their
/// paths prefixed with the module's.  Nodes that were there keep their names.  \param replaced  told of each call and the node that has
/// its value now; not told where the value is a tuple, whose getitems read the elements directly.
void inlineModuleGraphs(GraphModule &model, llvm::function_ref<void(const Node &call, Node &value)> replaced);

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_INLINEGRAPHS_H
