// Rule of sampling at points of a grid.
#include "ir/InferDetail.h"

namespace qfx {

/// Rules `grid_sample_mode` (a name or PyTorch's number of one), `grid_sample_rank` (images or volumes; bicubic images only),
/// `grid_sample_shape` (grid [N, ..., 2 or 3]), `grid_sample_dtype`, `grid_sample_size` (no empty channels or axes).
llvm::Expected<ValueType> inferGridSample(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(grid, context.getTensor("grid"));
  for (const TensorType *one : {&input, &grid})
    if (llvm::Error err = checkNotQuantized(context, *one, one == &input ? "input" : "grid"))
      return err;
  if (input.dtype != grid.dtype || !isFloat(input.dtype))
    return context.fail("dtype", "wants a floating-point input and grid of one dtype, got {0} and {1}", toString(input),
                        toString(grid));
  auto isKnown = [&](llvm::StringRef slot, llvm::ArrayRef<llvm::StringRef> names) {
    const Argument &mode = context.getCall().get(slot).arg;
    return mode.isInt() ? mode.getInt() >= 0 && mode.getInt() < static_cast<int64_t>(names.size())
                        : mode.isString() && llvm::is_contained(names, llvm::StringRef(mode.getString()));
  };
  for (auto [slot, names] : {std::pair<llvm::StringRef, llvm::SmallVector<llvm::StringRef, 3>>{"mode", {"bilinear", "nearest", "bicubic"}},
                             {"padding_mode", {"zeros", "border", "reflection"}}})
    if (!isKnown(slot, names))
      return context.fail("mode", "wants '{0}', '{1}' or '{2}' for '{3}', got {4}", names[0], names[1], names[2], slot,
                          toString(context.getCall().get(slot).arg, ArgumentStyle::Qfx));
  const size_t rank = input.getRank();
  const Argument &mode = context.getCall().get("mode").arg;
  const bool isCubic = mode == Argument(int64_t(2)) || mode == Argument("bicubic");
  if ((rank != 4 && rank != 5) || (isCubic && rank != 4))
    return context.fail("rank", "wants an input of rank {0}, got {1}", isCubic ? "4" : "4 or 5", toString(input));
  if (grid.getRank() != rank || !grid.shape[0].mayEqual(input.shape[0]) ||
      !grid.shape[rank - 1].mayEqual(Dim(static_cast<int64_t>(rank) - 2)))
    return context.fail("shape", "wants a grid [N, ..., {0}] for the input, got {1} and {2}", rank - 2, toString(grid),
                        toString(input));
  TensorType result = input;
  for (size_t i = 2; i < rank; ++i) {
    if (input.shape[i] == Dim(0))
      return context.fail("size", "wants sizes >= 1 along the sampled axes, got {0}", toString(input));
    result.shape[i] = grid.shape[i - 1];
  }
  result.format = MemoryFormat::Contiguous;
  return ValueType(result);
}

} // namespace qfx
