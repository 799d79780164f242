// The equation of torch.einsum, resolved for operands of known ranks.
#ifndef IR_EINSUM_H
#define IR_EINSUM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <variant>
#include <vector>

namespace qfx {

/// Labels are letters; the dimensions that an ellipsis stands for have labels from kEllipsis on, counted from the last one backwards, so
/// that those of different operands line up at their ends.
struct EinsumEquation {
  static constexpr int kEllipsis = 256;
  using Labels = llvm::SmallVector<int, 8>;

  std::vector<Labels> operands; ///< one label per dimension
  Labels output;
};

/// Reads "bhld,bhsd->bhls", spaces ignored; without an arrow the output has the ellipsis and, in alphabetical order, every letter that stands
/// once.  \returns the equation, or what is wrong with it.
std::variant<EinsumEquation, std::string> parseEinsum(llvm::StringRef text, llvm::ArrayRef<size_t> ranks);

} // namespace qfx

#endif // IR_EINSUM_H
