// Which nodes carry no tensor (sizes, counts, numbers made from them).
#ifndef PASSES_PREPARE_TENSORARGUMENTS_H
#define PASSES_PREPARE_TENSORARGUMENTS_H

#include "ir/GraphModule.h"

#include "llvm/ADT/DenseMap.h"

namespace qfx {

/// backend_config 7.6 / workflow 4.3, `all_node_args_have_no_tensors`: reads of `shape` and `ndim`, calls of `size`,
/// getitem on such a node, and calls all of whose positional arguments are integers, such nodes, or lists whose nodes
/// are such.  Inputs, attributes and module calls always carry tensors.  Answers are remembered: use one object while
/// the graph does not change.
class TensorArguments {
public:
  explicit TensorArguments(const GraphModule &model) : model(model) {}

  bool carriesNoTensor(const Node &node);
  /// How many positional operands of a root are nodes that carry tensors.
  unsigned countTensorOperands(const Node &root);

private:
  bool compute(const Node &node);

  const GraphModule &model;
  llvm::DenseMap<const Node *, bool> known;
};

} // namespace qfx

#endif // PASSES_PREPARE_TENSORARGUMENTS_H
