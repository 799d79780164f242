// Sizes and parameters that stand in for what a model leaves open, so that a plan can be tried before the first run.
#ifndef BACKENDS_RUNTIME_STANDINS_H
#define BACKENDS_RUNTIME_STANDINS_H

#include "ir/Diagnostics.h"
#include "ir/TensorType.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <vector>

namespace qfx {
class GraphModule;
class Node;
} // namespace qfx

namespace qfx::runtime {

/// One choice: `batch` for a symbol that is nowhere but in first places, `size` for all other symbols and unknown sizes.
struct StandIn {
  int64_t batch = 1, size = 64;
};

/// Choices to try in turn until a plan can be made.
llvm::ArrayRef<StandIn> getStandIns();

/// Choices for a model that those do not fit: the sizes of its inputs and tensors, which an open size may have to meet.
std::vector<StandIn> getOwnStandIns(const GraphModule &model);

struct StandInTypes {
  std::vector<TensorType> types; ///< static, by placeholder
  bool hasOpenSizes = false;     ///< a size other than the batch was open: these types are one guess of many
  bool hasOpenParameters = false; ///< quantization parameters come with the value: no input has these types
};

/// \returns none if some placeholder declares no type.
std::optional<StandInTypes> makeStandInTypes(llvm::ArrayRef<const Node *> placeholders, const StandIn &standIn);

/// Does the refusal say something of sizes or values that another input might not have (no memory, an index out of range,
/// an assertion)?
bool mayHangOnSizes(llvm::ArrayRef<Diagnostic> refusal);

/// The same refusals of the same places but for the numbers they name?
bool isSameRefusal(llvm::ArrayRef<Diagnostic> a, llvm::ArrayRef<Diagnostic> b);

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_STANDINS_H
