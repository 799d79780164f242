// Types inside a module's own graph.
#ifndef IR_INFERGRAPH_H
#define IR_INFERGRAPH_H

#include "ir/Infer.h"

namespace qfx {

/// What the nodes of `inner` yield when `call` (of the outer graph, whose types `lookup` knows) runs it: placeholders have the types of the
/// call's arguments, those left out their declared ones.
/// \param inner  openModule of the called module, which owns the nodes that the result names.
/// Error: the first call inside that does not fit, at its own place.
llvm::Expected<TypeMap> inferGraphTypes(const GraphModule &inner, const Node &call, TypeLookup lookup);

} // namespace qfx

#endif // IR_INFERGRAPH_H
