// Rules of unfold and fold: images and their columns.
#include "ir/InferDetail.h"

namespace qfx {

namespace {
struct Window {
  llvm::SmallVector<int64_t, 4> kernel, dilation, padding, stride;
  /// Positions along one axis; unknown for a symbolic size, none if the window does not fit.
  std::optional<Dim> countPositions(const Dim &size, size_t axis) const {
    if (!size.isStatic())
      return Dim::unknown();
    int64_t room = size.getValue() + 2 * padding[axis] - dilation[axis] * (kernel[axis] - 1) - 1;
    if (room < 0)
      return std::nullopt;
    return Dim(room / stride[axis] + 1);
  }
};
} // namespace

/// Rule `<op>_window`: sizes > 0, padding >= 0.
static llvm::Expected<Window> getWindow(const InferContext &context) {
  QFX_TRY(kernel, context.getInts("kernel_size", 2));
  QFX_TRY(dilation, context.getInts("dilation", 2));
  QFX_TRY(padding, context.getInts("padding", 2));
  QFX_TRY(stride, context.getInts("stride", 2));
  for (size_t i = 0; i < 2; ++i)
    if (kernel[i] < 1 || dilation[i] < 1 || padding[i] < 0 || stride[i] < 1)
      return context.fail("window", "wants kernel_size, dilation and stride > 0 and padding >= 0");
  return Window{kernel, dilation, padding, stride};
}

/// [N, C, H, W] or [C, H, W] -> [N, C kh kw, L].  Rules `unfold_rank`, `unfold_window`.
llvm::Expected<ValueType> inferUnfold(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  size_t rank = input.getRank();
  if (rank != 3 && rank != 4)
    return context.fail("rank", "wants an image of rank 4, or 3 without batch, got {0}", toString(input));
  QFX_TRY(window, getWindow(context));
  Dim positions(1);
  for (size_t i = 0; i < 2; ++i) {
    std::optional<Dim> count = window.countPositions(input.shape[rank - 2 + i], i);
    if (!count)
      return context.fail("window", "has a window larger than {0}", toString(input.shape));
    positions = multiplyDims(positions, *count);
  }
  TensorType result = input;
  result.format = MemoryFormat::Contiguous;
  result.shape.pop_back();
  result.shape.back() = positions;
  result.shape[rank - 3] = multiplyDims(input.shape[rank - 3], Dim(window.kernel[0] * window.kernel[1]));
  return ValueType(result);
}

/// The inverse, overlaps added.  Rules `fold_rank`, `fold_columns`.
llvm::Expected<ValueType> inferFold(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  size_t rank = input.getRank();
  if (rank != 2 && rank != 3)
    return context.fail("rank", "wants columns of rank 3, or 2 without batch, got {0}", toString(input));
  QFX_TRY(window, getWindow(context));
  QFX_TRY(size, context.getInts("output_size", 2));
  Dim positions(1);
  for (size_t i = 0; i < 2; ++i) {
    std::optional<Dim> count = size[i] < 1 ? std::nullopt : window.countPositions(Dim(size[i]), i);
    if (!count)
      return context.fail("window", "has a window larger than the output {0} by {1}", size[0], size[1]);
    positions = multiplyDims(positions, *count);
  }
  int64_t taps = window.kernel[0] * window.kernel[1];
  const Dim &rows = input.shape[rank - 2];
  if (!input.shape[rank - 1].mayEqual(positions) || (rows.isStatic() && rows.getValue() % taps))
    return context.fail("columns", "wants {0} columns of a multiple of {1} rows, got {2}", positions, taps,
                        toString(input.shape));
  TensorType result = input;
  result.shape[rank - 2] = rows.dividedBy(Dim(taps));
  result.shape[rank - 1] = Dim(size[0]);
  result.shape.push_back(Dim(size[1]));
  return ValueType(result);
}

} // namespace qfx
