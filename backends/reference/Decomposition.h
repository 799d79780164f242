// Builds the graph that a decomposed module (operators 20) stands for: calls of its children, functions between them.
#ifndef BACKENDS_REFERENCE_DECOMPOSITION_H
#define BACKENDS_REFERENCE_DECOMPOSITION_H

#include "backends/runtime/BindContext.h"
#include "ir/Graph.h"
#include "ir/Module.h"
#include "ir/Ops.h"

#include <string>
#include <vector>

namespace qfx::runtime {

/// Nodes of one decomposition.  Paths are below the called module; a child that was observed is followed by a call of
/// its `activation_post_process`, a quantized one computes with the scale and zero point it holds.
class Decomposition {
public:
  /// \param isQuantized  does the call get quantized tensors?
  Decomposition(Graph &graph, const Node &call, const Module &module, bool isQuantized)
      : graph(graph), prefix(call.getTargetText().str()), module(module), quantized(isQuantized) {}

  bool isQuantized() const { return quantized; }
  Graph &getGraph() { return graph; }
  ModuleRef findChild(const std::string &path) const { return module.findModule(path); }

  Node *input(llvm::StringRef name) { return graph.placeholder(name); }
  /// The child called with `x`, then observed.
  Node *callChild(const std::string &path, Node *x);
  /// FloatFunctional or QFunctional at `path`: `name` is add or mul.
  Node *callFunctional(const std::string &path, llvm::StringRef name, Node *a, Node *b);
  Node *callFunction(llvm::StringRef text, std::vector<Argument> args, Kwargs kwargs = {}) {
    return graph.callFunction(requireFunction(text), std::move(args), std::move(kwargs));
  }
  Node *callMethod(llvm::StringRef name, std::vector<Argument> args) {
    return graph.callMethod(requireMethod(name), std::move(args));
  }
  Node *getItem(Node *x, int64_t index) { return callFunction("operator.getitem", {Argument(x), Argument(index)}); }
  /// Along a new first dimension; quantized, the first tensor's parameters are the result's.
  Node *stack(llvm::ArrayRef<Node *> tensors);

private:
  Node *observe(const std::string &path, Node *x);

  Graph &graph;
  std::string prefix;
  const Module &module;
  bool quantized;
};

/// Builds the graph once per node and `tag` (whatever its form depends on) and binds it with these inputs.
llvm::Expected<RuntimeValue> bindDecomposition(BindContext &context, const std::string &tag,
                                               llvm::function_ref<void(Graph &)> build,
                                               llvm::ArrayRef<RuntimeValue> inputs);

/// LSTM and LSTM cell whose pieces are children: float, observed or quantized (operators 20.1).
llvm::Expected<RuntimeValue> bindDecomposedLstm(BindContext &context);
llvm::Expected<RuntimeValue> bindDecomposedLstmCell(BindContext &context);

/// Error that names the first of these children that the called module lacks.
llvm::Error requireChildren(BindContext &context, llvm::ArrayRef<std::string> paths);

} // namespace qfx::runtime

#endif // BACKENDS_REFERENCE_DECOMPOSITION_H
