// Concatenation: every input is copied to its place in the result.
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/CopyStep.h"
#include "backends/runtime/Kernels.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx::runtime {

/// Copies `parts` one behind the other along `dim` of a fresh tensor.
static RuntimeValue emitCat(BindContext &context, const std::vector<View> &parts, const TensorType &type, size_t dim) {
  View dst = context.allocate(type, getDefaultOrder(type.getRank()));
  std::vector<std::pair<View, View>> copies;
  int64_t start = 0;
  for (const View &part : parts) {
    View target = dst;
    target.offset += start * dst.strides[dim];
    target.sizes[dim] = part.sizes[dim];
    start += part.sizes[dim];
    copies.push_back({part, target});
  }
  std::vector<const View *> reads;
  for (const View &part : parts)
    reads.push_back(&part);
  context.emit(reads, {&dst}, [copies](RunContext &run) {
    for (const auto &[from, to] : copies)
      runCopy(run, from, to);
  });
  return RuntimeValue(dst);
}

static llvm::Expected<size_t> getCatDim(BindContext &context, size_t rank) {
  llvm::Expected<int64_t> given = context.attrs().getInt("dim");
  if (!given)
    return given.takeError();
  int64_t dim = *given < 0 ? *given + static_cast<int64_t>(rank) : *given;
  if (dim < 0 || dim >= static_cast<int64_t>(rank))
    return context.fail("dimension {0} is out of range for rank {1}", *given, rank);
  return static_cast<size_t>(dim);
}

llvm::Expected<RuntimeValue> bindCat(BindContext &context) {
  llvm::Expected<std::vector<View>> parts = context.getTensors("tensors");
  if (!parts)
    return parts.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  // PyTorch skips empty vectors.
  llvm::erase_if(*parts, [&](const View &part) { return part.getRank() == 1 && part.sizes[0] == 0; });
  for (const View &part : *parts)
    if (part.getDType() != type->dtype || part.getRank() != type->getRank())
      return context.fail("all tensors must be of type {0} and rank {1}, got {2}", getDTypeInfo(type->dtype).text,
                          type->getRank(), toString(part.type));
  llvm::Expected<size_t> dim = getCatDim(context, type->getRank());
  if (!dim)
    return dim.takeError();
  return emitCat(context, *parts, *type, *dim);
}

llvm::Expected<RuntimeValue> bindStack(BindContext &context) {
  llvm::Expected<std::vector<View>> parts = context.getTensors("tensors");
  if (!parts)
    return parts.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<size_t> dim = getCatDim(context, type->getRank());
  if (!dim)
    return dim.takeError();
  for (View &part : *parts) {
    if (part.getDType() != type->dtype)
      return context.fail("all tensors must be of type {0}, got {1}", getDTypeInfo(type->dtype).text,
                          toString(part.type));
    part = unsqueezed(part, *dim);
  }
  return emitCat(context, *parts, *type, *dim);
}

} // namespace qfx::runtime
