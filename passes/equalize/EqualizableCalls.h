// Which calls input-weight equalization applies to.
#ifndef PASSES_EQUALIZE_EQUALIZABLECALLS_H
#define PASSES_EQUALIZE_EQUALIZABLECALLS_H

#include "ir/GraphModule.h"

#include <optional>

namespace qfx {

/// A row of EqualizableCalls.def.
struct EqualizableCall {
  llvm::StringRef name;   ///< module class or function
  llvm::StringRef member; ///< of a module: the child with the weight, "" for itself
  unsigned dimensions;    ///< spatial ones

  /// Where a tensor of that rank has this layer's channels; none if the rank is too small.
  std::optional<int64_t> getChannelAxis(size_t rank) const {
    return rank > dimensions ? std::optional(static_cast<int64_t>(rank - 1 - dimensions)) : std::nullopt;
  }
};

/// The row of a call (node_supports_equalization), or null.
const EqualizableCall *findEqualizableCall(const Node &node, const GraphModule &model);

/// The module that holds the weight of a call of an equalizable module; null for functions.
ModuleRef getWeightOwner(const Node &node, const GraphModule &model);

} // namespace qfx

#endif // PASSES_EQUALIZE_EQUALIZABLECALLS_H
