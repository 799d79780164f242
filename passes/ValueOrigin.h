// Which node of the original graph a rewritten node computes the value of: lets per-layer comparisons pair them.
#ifndef PASSES_VALUEORIGIN_H
#define PASSES_VALUEORIGIN_H

#include "ir/Graph.h"

namespace qfx {

/// Meta key: the name of the original node.  A node without it computes the value of the node of its own name.
inline constexpr llvm::StringLiteral kValueOriginMeta("value_of");

inline std::string getValueOrigin(const Node &node) {
  const Argument *origin = node.findMeta(kValueOriginMeta);
  return origin && origin->isString() ? origin->getString() : node.getName();
}

/// `rewritten` now computes what `original` computed.
inline void setValueOrigin(Node &rewritten, const Node &original) {
  std::string origin = getValueOrigin(original);
  if (origin != rewritten.getName())
    rewritten.setMeta(kValueOriginMeta, Argument(origin));
}

} // namespace qfx

#endif // PASSES_VALUEORIGIN_H
