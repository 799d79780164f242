// What calibration notices about values that a cat or stack joins under one scale (known_traps B08).
#ifndef PASSES_CALIBRATE_JOINEDRANGES_H
#define PASSES_CALIBRATE_JOINEDRANGES_H

#include "passes/Pass.h"

#include <vector>

namespace qfx {

/// Where cat and stack join values whose observers are one object, the smaller ones share the scale that the largest needs.  Each such value
/// gets a probe of its own in a copy of the graph; calibration runs that copy.
class JoinedRanges {
public:
  /// \param model  a prepared model; its graph is copied, its modules (observers too) are shared.
  explicit JoinedRanges(const GraphModule &model);

  /// The model to run: what it observes, the original's observers observe.
  const GraphModule &getModel() const { return probed; }

  /// Warns (`calibrate_ranges`) of each join whose values' ranges, zero included, differ by a factor of 16 or more.  Values that were always
  /// zero do not count.
  void warn(PassContext &context) const;

private:
  struct Join {
    std::string name;
    Location loc;
    std::vector<std::pair<std::string, ModuleRef>> probes; ///< name of the joined value, its probe
  };

  void probe(Node &join, const Node &original);

  GraphModule probed;
  std::vector<Join> joins;
};

} // namespace qfx

#endif // PASSES_CALIBRATE_JOINEDRANGES_H
