// A call's operands by position, whether they were passed positionally or by keyword.
#ifndef PASSES_CONFIG_OPERANDS_H
#define PASSES_CONFIG_OPERANDS_H

#include "ir/Argument.h"

#include <vector>

namespace qfx {

class GraphModule;
class Node;

/// The node's positional arguments, followed by those operands of its signature that were passed by keyword, each at
/// its schema place as long as there is no gap (backend_config 7.1).  Operands are the tensor slots, required slots of
/// any type (`other`) and any slot that receives a node; attributes (`inplace`, `dim`, ...) passed by keyword do not
/// count.
std::vector<Argument> getOperands(const Node &node, const GraphModule &model);

} // namespace qfx

#endif // PASSES_CONFIG_OPERANDS_H
