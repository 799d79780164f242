// Padding: the middle is copied at once, the border dimension by dimension from what already stands in the result.
#include "backends/runtime/PadStep.h"

#include "backends/runtime/CopyStep.h"
#include "kernels/layout/Layout.h"

#include "llvm/ADT/StringSwitch.h"

namespace qfx::runtime {

std::optional<PadMode> parsePadMode(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<PadMode>>(name)
      .Cases("zeros", "constant", PadMode::Constant)
      .Case("reflect", PadMode::Reflect)
      .Case("replicate", PadMode::Replicate)
      .Case("circular", PadMode::Circular)
      .Default(std::nullopt);
}

llvm::Error checkPadding(BindContext &context, const View &input, const Padding &padding) {
  for (const Padding::Dim &dim : padding.dims) {
    int64_t size = input.sizes[dim.dim], most = std::max(dim.before, dim.after);
    if (size + dim.before + dim.after < 0)
      return context.fail("padding ({0}, {1}) cuts off more than dimension {2} of {3} has", dim.before, dim.after,
                          dim.dim, toString(input.type));
    if ((padding.mode == PadMode::Reflect && most >= size) || (padding.mode == PadMode::Circular && most > size) ||
        (padding.mode == PadMode::Replicate && size == 0))
      return context.fail("padding ({0}, {1}) is too large for dimension {2} of {3}", dim.before, dim.after, dim.dim,
                          toString(input.type));
  }
  return llvm::Error::success();
}

/// Which element of the unpadded dimension stands at `i` of the padded one (counted from the first unpadded).
static int64_t getSource(PadMode mode, int64_t i, int64_t size) {
  switch (mode) {
  case PadMode::Reflect:
    return i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
  case PadMode::Circular:
    return i < 0 ? i + size : i >= size ? i - size : i;
  case PadMode::Replicate:
  case PadMode::Constant:
    return i < 0 ? 0 : i >= size ? size - 1 : i;
  }
  return i;
}

static void runPad(const View &src, const View &dst, const Padding &padding) {
  int64_t bytes = src.getElemBytes();
  if (padding.mode == PadMode::Constant)
    kernels::fillElements(dst.getBytes(), static_cast<int>(bytes), dst.getNumElements(), padding.value.data());
  // The part of src that stays, and where it starts in dst.
  Sizes sizes = src.sizes;
  const std::byte *from = src.getBytes();
  std::byte *middle = dst.getBytes();
  for (const Padding::Dim &dim : padding.dims) {
    from += std::max<int64_t>(-dim.before, 0) * src.strides[dim.dim] * bytes;
    middle += std::max<int64_t>(dim.before, 0) * dst.strides[dim.dim] * bytes;
    sizes[dim.dim] += std::min<int64_t>(dim.before, 0) + std::min<int64_t>(dim.after, 0);
  }
  copyElements(sizes, bytes, from, src.strides, middle, dst.strides);
  if (padding.mode == PadMode::Constant)
    return;
  // Each dimension repeats whole slices of what the dimensions before it have completed.
  std::byte *start = middle;
  for (const Padding::Dim &dim : padding.dims) {
    Sizes slice = sizes;
    slice[dim.dim] = 1;
    int64_t step = dst.strides[dim.dim] * bytes, size = sizes[dim.dim];
    auto copySlice = [&](int64_t i) {
      copyElements(slice, bytes, start + getSource(padding.mode, i, size) * step, dst.strides, start + i * step,
                   dst.strides);
    };
    for (int64_t i = -std::max<int64_t>(dim.before, 0); i < 0; ++i)
      copySlice(i);
    for (int64_t i = size; i < size + dim.after; ++i)
      copySlice(i);
    start -= std::max<int64_t>(dim.before, 0) * step;
    sizes[dim.dim] += std::max<int64_t>(dim.before, 0) + std::max<int64_t>(dim.after, 0);
  }
}

View emitPad(BindContext &context, const View &input, const Padding &padding) {
  TensorType type = input.type;
  for (const Padding::Dim &dim : padding.dims)
    type.shape[dim.dim] = Dim(input.sizes[dim.dim] + dim.before + dim.after);
  View dst = context.allocate(type, type.getRank() >= 3 ? StorageOrder::ChannelsLast : StorageOrder::RowMajor);
  context.emit({&input}, {&dst}, [input, dst, padding](RunContext &) { runPad(input, dst, padding); });
  return dst;
}

} // namespace qfx::runtime
