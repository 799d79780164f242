// Classification accuracy of outputs against labels.
#ifndef TOOLS_RUN_LABELS_H
#define TOOLS_RUN_LABELS_H

#include "backends/runtime/Program.h"
#include "ir/Tensor.h"

#include "llvm/Support/Error.h"

namespace qfx::tool {

/// Counts rows whose label is the largest, or among the five largest, of the first output [N, classes].  Ties go to the lower class.
class AccuracyCounter {
public:
  /// `path`: a safetensors file with a tensor `labels`, or a .npy file; integers, one per row over all batches.
  static llvm::Expected<AccuracyCounter> load(llvm::StringRef path);

  /// Rows are taken in order.  Errors: an output of another shape, more rows than labels.
  llvm::Error add(llvm::ArrayRef<NamedValue> outputs);
  /// An error if labels are left over.
  llvm::Error finish() const;
  int64_t getNumRows() const { return numRows; }
  double getTop1() const { return numRows ? static_cast<double>(numTop1) / static_cast<double>(numRows) : 0; }
  double getTop5() const { return numRows ? static_cast<double>(numTop5) / static_cast<double>(numRows) : 0; }

private:
  Tensor labels;
  int64_t numRows = 0, numTop1 = 0, numTop5 = 0;
};

} // namespace qfx::tool

#endif // TOOLS_RUN_LABELS_H
