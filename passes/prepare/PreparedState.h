// What prepare decided and convert reads again, kept in the model's meta so that convert may run in another process.
#ifndef PASSES_PREPARE_PREPAREDSTATE_H
#define PASSES_PREPARE_PREPAREDSTATE_H

#include "backends/config/QConfigMapping.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace qfx {

class GraphModule;
class Node;

/// FX's ObservedGraphModuleAttrs (workflow 4.1).  Scopes stand on the nodes themselves.
struct PreparedState {
  /// Node name -> its qconfig; a node without an entry was made by prepare (observers).
  llvm::StringMap<OptionalQConfig> nodeQConfigs;
  /// Nodes with an equalization qconfig (EqualizationConfig.h); empty unless prepare was given an equalization config.
  llvm::StringMap<QConfig> equalizationQConfigs;
  QConfigMapping mapping; ///< after the adjustments for fusion and QAT
  bool isQat = false;
  llvm::StringSet<> observedNodes;
  std::vector<int64_t> inputQuantizedIndexes, outputQuantizedIndexes;
  std::string backendName; ///< name of the BackendConfig used, for messages

  /// The entry of a node, or null if it has none.
  const OptionalQConfig *findQConfig(const Node &node) const;
  /// True if there is an entry and it says "do not quantize".
  bool isExplicitlyNone(const Node &node) const;

  void store(GraphModule &model) const; ///< under meta key "prepared"
  /// An error if the model was not prepared ("not produced by prepare").
  static llvm::Expected<PreparedState> load(const GraphModule &model);
  static void drop(GraphModule &model);
};

} // namespace qfx

#endif // PASSES_PREPARE_PREPAREDSTATE_H
