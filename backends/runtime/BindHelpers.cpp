// Operand checks with messages that say what was found and what is taken.
#include "backends/runtime/BindHelpers.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx::runtime {

llvm::Expected<View> getFloatTensor(BindContext &context, llvm::StringRef slot) {
  llvm::Expected<View> view = context.getTensor(slot);
  if (view && view->getDType() != DType::Float32)
    return context.fail("operand '{0}' must be float32, got {1}", slot, toString(view->type));
  return view;
}

llvm::Expected<CodeOperand> toCodeOperand(BindContext &context, const View &view, llvm::StringRef slot) {
  if (view.getDType() != DType::QUInt8 && view.getDType() != DType::QInt8)
    return context.fail("operand '{0}' must be quint8 or qint8, got {1}", slot, toString(view.type));
  llvm::Expected<QuantizerRef> quantizer = context.getQuantizer(view);
  if (!quantizer)
    return quantizer.takeError();
  return CodeOperand{view, toQParams(**quantizer)};
}

llvm::Expected<CodeOperand> getCodeTensor(BindContext &context, llvm::StringRef slot) {
  llvm::Expected<View> view = context.getTensor(slot);
  if (!view)
    return view.takeError();
  return toCodeOperand(context, *view, slot);
}

llvm::Expected<kernels::QParams> getResultParams(BindContext &context, const TensorType &type) {
  if (!type.quantizer || !type.quantizer->isPerTensor())
    return context.fail("the quantization parameters of its result, {0}, must be known before the graph runs",
                        toString(type));
  int64_t zeroPoint = type.quantizer->getZeroPoint();
  const DTypeInfo &info = getDTypeInfo(type.dtype);
  if (zeroPoint < info.codeMin || zeroPoint > info.codeMax)
    return context.fail("zero point {0} lies outside the range {1}..{2} of {3}", zeroPoint, info.codeMin, info.codeMax,
                        info.text);
  return toQParams(*type.quantizer);
}

std::optional<int64_t> getPixelStride(const View &view) {
  if (view.getRank() < 3 || (view.sizes[1] > 1 && view.strides[1] != 1))
    return std::nullopt;
  std::optional<int64_t> pixelStride;
  int64_t pixels = 1;
  for (size_t i = view.getRank(); i-- > 0;) {
    if (i == 1 || view.sizes[i] == 1)
      continue;
    if (!pixelStride)
      pixelStride = view.strides[i];
    else if (view.strides[i] != *pixelStride * pixels)
      return std::nullopt;
    pixels *= view.sizes[i];
  }
  if (!pixelStride)
    return view.sizes[1];
  return *pixelStride >= view.sizes[1] ? pixelStride : std::nullopt;
}

kernels::BroadcastPlan makeBroadcast(const View &out, const View &a, const View &b) {
  size_t rank = out.getRank();
  llvm::SmallVector<size_t, 8> order(rank);
  for (size_t i = 0; i < rank; ++i)
    order[i] = i;
  llvm::stable_sort(order, [&](size_t x, size_t y) { return out.strides[x] > out.strides[y]; });
  int64_t sizes[kernels::kMaxBroadcastRank], aStrides[kernels::kMaxBroadcastRank], bStrides[kernels::kMaxBroadcastRank];
  auto strideOf = [&](const View &operand, size_t dim) -> int64_t {
    size_t missing = rank - operand.getRank();
    return dim < missing || operand.sizes[dim - missing] == 1 ? 0 : operand.strides[dim - missing];
  };
  for (size_t i = 0; i < rank; ++i) {
    sizes[i] = out.sizes[order[i]];
    aStrides[i] = strideOf(a, order[i]);
    bStrides[i] = strideOf(b, order[i]);
  }
  return kernels::planBroadcast(static_cast<int>(rank), sizes, aStrides, bStrides);
}

Strides chooseLayout(const TensorType &type, const View &a, const View &b) {
  llvm::SmallVector<int64_t, 4> sizes = type.getSizes();
  for (const View *operand : {&a, &b})
    if (llvm::ArrayRef<int64_t>(operand->sizes) == llvm::ArrayRef<int64_t>(sizes) &&
        isDenseStorage(operand->sizes, operand->strides))
      return operand->strides;
  return getDenseStrides(sizes, getDefaultOrder(sizes.size()));
}

View unsqueezed(View view, size_t dim) {
  int64_t stride = dim < view.getRank() ? view.strides[dim] * view.sizes[dim] : 1;
  view.sizes.insert(view.sizes.begin() + dim, 1);
  view.strides.insert(view.strides.begin() + dim, stride);
  view.type.shape.insert(view.type.shape.begin() + dim, Dim(1));
  return view;
}

View squeezed(View view, size_t dim) {
  view.sizes.erase(view.sizes.begin() + dim);
  view.strides.erase(view.strides.begin() + dim);
  view.type.shape.erase(view.type.shape.begin() + dim);
  return view;
}

} // namespace qfx::runtime
