// A model: module tree plus graph.
#ifndef IR_GRAPHMODULE_H
#define IR_GRAPHMODULE_H

#include "ir/Graph.h"
#include "ir/Module.h"

#include <memory>

namespace qfx {

/// Movable, not copyable; clone() is FX's deepcopy: users in list order, names reserved afresh, module objects copied with
/// sharing kept, tensors shared.
class GraphModule {
public:
  GraphModule() : root(std::make_shared<Module>()), graph(std::make_unique<Graph>()) {}
  GraphModule(ModuleRef root, std::unique_ptr<Graph> graph) : root(std::move(root)), graph(std::move(graph)) {}
  GraphModule clone() const;

  Module &getRoot() { return *root; }
  const Module &getRoot() const { return *root; }
  Graph &getGraph() { return *graph; }
  const Graph &getGraph() const { return *graph; }
  /// Swaps in a rebuilt graph.
  void setGraph(std::unique_ptr<Graph> newGraph) { graph = std::move(newGraph); }

  /// The module that a call_module node calls; null if the path leads nowhere.
  ModuleRef getModule(const Node &node) const { return root->findModule(node.getTargetText()); }

  /// Facts that passes leave for later passes, printed as `meta NAME = ...` (qconfig mapping, prepare's decisions).
  const std::vector<std::pair<std::string, Argument>> &getMeta() const { return meta; }
  const Argument *findMeta(llvm::StringRef key) const;
  void setMeta(llvm::StringRef key, Argument value);
  void removeMeta(llvm::StringRef key);

  /// Drops modules, parameters and buffers that no node reaches, as building a GraphModule does in FX.
  void dropUnreferencedMembers();

private:
  ModuleRef root;
  std::unique_ptr<Graph> graph;
  std::vector<std::pair<std::string, Argument>> meta;
};

} // namespace qfx

#endif // IR_GRAPHMODULE_H
