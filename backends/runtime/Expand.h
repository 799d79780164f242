// Rewrites fused float modules into calls of their children, so that every node left is one operator.
#ifndef BACKENDS_RUNTIME_EXPAND_H
#define BACKENDS_RUNTIME_EXPAND_H

#include "ir/GraphModule.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"

#include <string>

namespace qfx::runtime {

struct ExpandedModel {
  GraphModule model; ///< shares every module below the root with the source
  /// The nodes whose values are those of the source's nodes, with the source's names.
  llvm::DenseMap<const Node *, std::string> originals;
};

/// Copies the graph of `model`; calls of composite modules (nni.ConvReLU2d, Sequential, ...) become chains of calls of
/// their children.  An error if a called module is missing, or a composite takes more than one input.
llvm::Expected<ExpandedModel> expandComposites(const GraphModule &model);

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_EXPAND_H
