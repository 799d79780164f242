// Which qconfig a node has, and which rule of the mapping says so (workflow 2.3).
#ifndef PASSES_CONFIG_QCONFIGRESOLVER_H
#define PASSES_CONFIG_QCONFIGRESOLVER_H

#include "backends/config/QConfigMapping.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace qfx {

class GraphModule;
class Node;

/// A node's qconfig and where it comes from.
struct ResolvedQConfig {
  OptionalQConfig qconfig;
  std::string rule; ///< "the global entry", "the object_type entry 'torch.nn.Conv2d'", ...
};

/// Resolves nodes in graph order (the order entries count calls).  One resolver serves one walk over one graph.
class QConfigResolver {
public:
  /// Borrows `mapping`.  A malformed regular expression is an error.
  static llvm::Expected<QConfigResolver> create(const QConfigMapping &mapping);

  /// The node's entry; null for nodes that have none (calls of observers).  Placeholders and the output resolve to
  /// "none". Must be called for every node of the graph, in order.
  std::optional<ResolvedQConfig> resolve(const Node &node, const GraphModule &model);

private:
  explicit QConfigResolver(const QConfigMapping &mapping) : mapping(&mapping) {}

  /// A borrowed entry: the mapping outlives the walk.
  struct Choice {
    const OptionalQConfig *qconfig;
    std::string rule;
  };
  Choice chooseGlobal() const;
  Choice chooseType(const OperatorName &type, Choice fallback) const;
  /// object_type, then regex, then module_name, each over the one before.
  Choice chooseBase(const OperatorName &type, llvm::StringRef path, Choice fallback);
  Choice chooseOrder(llvm::StringRef path, const OperatorName &type, Choice fallback);

  const QConfigMapping *mapping;
  llvm::StringMap<unsigned> typeIndex, nameIndex;
  llvm::StringMap<std::optional<unsigned>> regexCache;                ///< path -> index of the first matching regex
  std::map<std::pair<std::string, std::string>, unsigned> callCounts; ///< (path, type) -> calls seen
};

/// Object type of the scope that a node stands in; "" at the top level.
OperatorName getScopeType(const Node &node, const GraphModule &model);
/// Path of that scope (a call_module's own path).
std::string getScopePath(const Node &node);

/// workflow 2.4.1: for each called fused module whose children's object_type entries agree, the fused class gets the
/// same entry.  Where they disagree an entry of the fused class itself decides (PyTorch: an error); without one, an error (rule
/// `fused_qconfigs`) names the fused type and the child type that disagrees.
llvm::Error updateMappingForFusion(QConfigMapping &mapping, const GraphModule &model);

} // namespace qfx

#endif // PASSES_CONFIG_QCONFIGRESOLVER_H
