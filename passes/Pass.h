// What a pass is, and what it may ask of its surroundings.
#ifndef PASSES_PASS_H
#define PASSES_PASS_H

#include "backends/config/BackendConfig.h"
#include "backends/config/CustomConfig.h"
#include "backends/config/QConfigMapping.h"
#include "ir/Diagnostics.h"
#include "ir/GraphModule.h"
#include "ir/weights/InputSet.h"

#include "llvm/Support/Error.h"

#include <functional>
#include <string>
#include <vector>

namespace qfx {

/// "Why was my layer not quantized": what a pass did to a node or declined to do.
struct Remark {
  enum class Kind : uint8_t { Applied, Missed };
  Kind kind = Kind::Missed;
  std::string pass;      ///< "prepare"
  std::string node;      ///< node name; empty for the whole model
  std::string requested; ///< e.g. the qconfig's dtypes; may be empty
  std::string granted;   ///< e.g. "float"; may be empty
  Diagnostic diagnostic; ///< place, reason, notes ("qconfig comes from the object_type entry ...")
};

/// One line of the coverage table: what a node was asked to be and what it became.
struct CoverageRow {
  std::string pass;      ///< "prepare", "convert-to-reference", "lower"
  std::string node;      ///< name in the graph
  std::string operation; ///< what it calls; empty in a row that amends an earlier one
  std::string requested; ///< the qconfig's dtypes, or "none"
  std::string granted;   ///< "quint8", "float", "reference", "quantized", ...
  std::string reason;    ///< why not all that was requested; empty if it was
};

/// Everything a pass may read besides the model.  Shared by the passes of one pipeline.
struct PassContext {
  BackendConfig backend{"native"};
  /// x86 | fbgemm | onednn | qnnpack: output stage and reduce_range of dynamic quantization (workflow 6).
  std::string engine = "x86";
  /// What prepare applies.  Unset: the default mapping of the backend (getDefaultMappingFor).
  std::optional<QConfigMapping> qconfigMapping;
  /// A mapping given to convert may only switch quantization off (workflow 2.5).
  std::optional<QConfigMapping> convertQConfigMapping;
  /// What fuse, prepare and convert do beside qconfigs: standalone and custom modules, quantized inputs and outputs, ...
  CustomConfig customConfig;
  /// What calibrate runs, in order.
  std::vector<InputBatch> calibrationData;
  bool strict = false;            ///< every fallback to float is an error
  bool allowUnmatched = false;    ///< rules that match nothing warn instead of failing
  bool allowUncalibrated = false; ///< observers without data warn instead of failing
  bool splitOutputs = false;      ///< what joins values right before they leave the model stays float: each keeps a range of its own
  unsigned numThreads = 1;
  std::function<void(const Remark &)> onRemark;
  /// Told of every call node by prepare, and by convert-to-reference and lower of those that changed their state.
  std::function<void(const CoverageRow &)> onCoverage;
  std::function<void(const Diagnostic &)> onWarning;
  /// Calibration and the like: done, total (0 if unknown).  Returning false cancels with an error.
  std::function<bool(size_t done, size_t total)> onProgress;
  /// Asked by every pass as it goes, at least once per node or batch; true ends it with the error `cancelled`.
  std::function<bool()> isCancelled;

  void warn(Diagnostic diagnostic) const;
  /// Reports a declined node; under `strict` the same text comes back as an error.
  llvm::Error missed(llvm::StringRef pass, const Node &node, std::string requested, Diagnostic why) const;
  /// The error `cancelled`, which names the pass, if isCancelled says so.
  llvm::Error checkCancelled(llvm::StringRef pass) const;
  void applied(llvm::StringRef pass, const Node &node, std::string message) const;
};

/// A pass is a pure function of (model, context, options).  `run` tells whether the model changed.
class Pass {
public:
  virtual ~Pass() = default;
  virtual llvm::Expected<bool> run(GraphModule &model, PassContext &context) = 0;
};

} // namespace qfx

#endif // PASSES_PASS_H
