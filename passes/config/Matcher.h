// Where the patterns of a BackendConfig stand in a graph.
#ifndef PASSES_CONFIG_MATCHER_H
#define PASSES_CONFIG_MATCHER_H

#include "backends/config/BackendConfig.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <vector>

namespace qfx {

class GraphModule;
class Node;

/// One match.  Paths into the entry's internal pattern mean the same here (the match keeps the pattern's shape).
struct Match {
  const BackendPatternConfig *entry = nullptr; ///< null: a node handled as a whole, without a pattern
  Node *anchor = nullptr;                      ///< last node in data-flow order
  Node *root = nullptr;                        ///< carries the weight, or takes the pattern's input (7.5)
  /// The nodes of the pattern's operators, anchor first, then depth first in pattern order.  Nodes under wildcards are
  /// not in it.
  llvm::SmallVector<Node *, 4> nodes;
  llvm::SmallVector<Node *, 1> extraInputs; ///< nodes at the entry's extra-input paths

  bool contains(const Node *node) const { return llvm::is_contained(nodes, node); }
};

/// Which entries take part, and how strict a match is.
enum class MatchPurpose : uint8_t {
  Quantize, ///< every entry (7.2)
  Fuse,     ///< entries with a fuser method (7.3)
};

/// The patterns of a backend in matching order, found by the anchor's operator so that a scan is linear in the graph.
class Matcher {
public:
  /// Borrows both; the graph must not change while the matcher is in use.
  Matcher(GraphModule &model, const BackendConfig &backend, MatchPurpose purpose);

  /// Does `node` match `entry` as its anchor?  Interior values may have one user only, the anchor any number.  A match
  /// in which a constant or a node of the same match stands under a wildcard is refused, as is a fusing one with
  /// `alpha` other than 1.
  std::optional<Match> match(Node &node, const BackendPatternConfig &entry) const;

  /// Visits nodes from last to first; a node that no earlier match holds takes the first entry that matches.
  /// \returns the matches in the order found (anchors from last to first).
  std::vector<Match> scan() const;

  /// For "why not": an interior node of an entry anchored at `node` that matches but for having several users; null if
  /// none.
  Node *findSharedInterior(Node &node) const;

  /// Why `node` is no anchor of `entry`: the first thing that match() stumbles over; empty if it matches.
  std::string explainMismatch(Node &node, const BackendPatternConfig &entry) const;

private:
  llvm::ArrayRef<const BackendPatternConfig *> getCandidates(const Node &node) const;

  GraphModule &model;
  llvm::DenseMap<const Node *, llvm::StringRef> calledNames;
  llvm::StringMap<std::vector<const BackendPatternConfig *>> byAnchor; ///< canonical spelling of the pattern's head
};

/// Canonical spelling that patterns name this call by: a function, method or the called module's class; empty for other
/// nodes.
llvm::StringRef getCalledName(const Node &node, const GraphModule &model);

} // namespace qfx

#endif // PASSES_CONFIG_MATCHER_H
