// Modules that have a graph of their own: standalone modules and those that tracing did not go into (FX's nested GraphModule).
#ifndef IR_MODULEGRAPH_H
#define IR_MODULEGRAPH_H

#include "ir/GraphModule.h"

namespace qfx {

/// Does calling this module run a graph of its own?  Such a module is of no class of the operator table; paths in its graph start at it.
bool hasGraph(const Module &module);

/// The module as a model: its graph and what passes noted about it, its members shared with the module.  The module itself does not
/// change; closeModule of the result replaces it.  Asserts hasGraph.
GraphModule openModule(const Module &module);

/// The model as one module.  Nodes keep their places as long as they are in the text that the module stands in; others have the module's.
ModuleRef closeModule(const GraphModule &model);

/// The graph alone, for those who only look.
std::unique_ptr<Graph> readGraph(const Module &module);
void writeGraph(Module &module, const Graph &graph);

/// Facts about the graph that passes leave on it, by name.
Argument::DictEntries readGraphMeta(const Module &module);
void writeGraphMeta(Module &module, Argument::DictEntries meta);

/// Names of the module attributes that hold the two; printers show them in another form.
inline constexpr llvm::StringLiteral kGraphAttribute("__graph__");
inline constexpr llvm::StringLiteral kGraphMetaAttribute("__graph_meta__");

} // namespace qfx

#endif // IR_MODULEGRAPH_H
