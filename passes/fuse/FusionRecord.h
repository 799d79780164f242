// What fusion absorbed, kept in the model's meta until prepare has checked the user's rules against it.
#ifndef PASSES_FUSE_FUSIONRECORD_H
#define PASSES_FUSE_FUSIONRECORD_H

#include <string>
#include <vector>

namespace qfx {

class GraphModule;
class Node;

/// A node of the unfused graph that no longer exists.
struct AbsorbedNode {
  std::string name;      ///< of the absorbed node
  std::string path;      ///< module path; empty for functions and methods
  std::string type;      ///< called class, function or method
  std::string scopePath; ///< where its code stood (a called module's own path)
  std::string scopeType;
  std::string into; ///< name of the node that stands for it

  static AbsorbedNode of(const Node &node, const GraphModule &model, const std::string &into);
};

/// Under meta key "fused"; empty if fusion did nothing or did not run.
std::vector<AbsorbedNode> loadFusionRecord(const GraphModule &model);
void storeFusionRecord(GraphModule &model, const std::vector<AbsorbedNode> &record);
void dropFusionRecord(GraphModule &model);

} // namespace qfx

#endif // PASSES_FUSE_FUSIONRECORD_H
