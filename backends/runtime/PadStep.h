// Putting elements around a tensor, or cutting some off.
#ifndef BACKENDS_RUNTIME_PADSTEP_H
#define BACKENDS_RUNTIME_PADSTEP_H

#include "backends/runtime/BindContext.h"

#include "llvm/ADT/SmallVector.h"

#include <array>
#include <optional>

namespace qfx::runtime {

enum class PadMode : uint8_t { Constant, Reflect, Replicate, Circular };
/// PyTorch's spelling; 'zeros' and 'constant' are the same mode.
std::optional<PadMode> parsePadMode(llvm::StringRef name);

struct Padding {
  struct Dim {
    size_t dim;
    int64_t before, after; ///< negative: cut off
  };
  llvm::SmallVector<Dim, 4> dims;
  PadMode mode = PadMode::Constant;
  std::array<std::byte, 8> value = {}; ///< one element for Constant, or its byte repeated
};

/// The padded tensor, in the default storage order.  What Reflect and Circular need of the input's size is checked by
/// checkPadding before.
View emitPad(BindContext &context, const View &input, const Padding &padding);

/// Reflect needs less padding than the dimension has elements, Circular at most as much, Replicate a non-empty
/// dimension.
llvm::Error checkPadding(BindContext &context, const View &input, const Padding &padding);

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_PADSTEP_H
