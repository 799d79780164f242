// Quantizers and memory formats of views.
#include "ir/infer/ViewDetail.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

/// The same parameters along another axis.
static QuantizerRef withAxis(const Quantizer &q, int64_t axis) {
  if (q.getScheme() != QScheme::PerChannelAffineFloatQParams)
    return std::make_shared<const Quantizer>(Quantizer::perChannel(q.getScales().vec(), q.getZeroPoints().vec(), axis));
  std::vector<float> scales(q.getScales().begin(), q.getScales().end());
  return std::make_shared<const Quantizer>(
      Quantizer::perChannelFloat(std::move(scales), q.getFloatZeroPoints().vec(), axis));
}

QuantizerRef shiftAxis(const QuantizerRef &quantizer, llvm::ArrayRef<int64_t> dims, int delta) {
  if (!quantizer || quantizer->isPerTensor())
    return quantizer;
  int64_t axis = quantizer->getAxis(), shifted = axis;
  for (int64_t dim : dims)
    shifted += dim <= axis ? delta : 0;
  return withAxis(*quantizer, shifted);
}

QuantizerRef sliceQuantizer(const QuantizerRef &quantizer, int64_t dim, int64_t start, int64_t count, int64_t step) {
  if (!quantizer || quantizer->isPerTensor() || quantizer->getAxis() != dim)
    return quantizer;
  const Quantizer &q = *quantizer;
  auto pick = [&](auto values) {
    auto all = values.vec();
    decltype(all) picked;
    for (int64_t i = 0; i < count; ++i)
      picked.push_back(all[static_cast<size_t>(start + i * step)]);
    return picked;
  };
  if (q.getScheme() != QScheme::PerChannelAffineFloatQParams)
    return std::make_shared<const Quantizer>(Quantizer::perChannel(pick(q.getScales()), pick(q.getZeroPoints()), dim));
  std::vector<double> scales = pick(q.getScales());
  return std::make_shared<const Quantizer>(Quantizer::perChannelFloat(std::vector<float>(scales.begin(), scales.end()),
                                                                      pick(q.getFloatZeroPoints()), dim));
}

QuantizerRef selectQuantizer(const QuantizerRef &quantizer, int64_t dim, int64_t index) {
  if (!quantizer || quantizer->isPerTensor())
    return quantizer;
  const Quantizer &q = *quantizer;
  if (q.getAxis() != dim)
    return shiftAxis(quantizer, {dim}, -1);
  // A float zero point has no per-tensor form; the element's parameters are then known at run time only.
  if (q.getScheme() == QScheme::PerChannelAffineFloatQParams)
    return nullptr;
  size_t i = static_cast<size_t>(index);
  return std::make_shared<const Quantizer>(Quantizer::perTensor(q.getScales()[i], q.getZeroPoints()[i]));
}

/// Dimensions from the outermost to the innermost in memory.
static llvm::SmallVector<int64_t, 5> getStrideOrder(MemoryFormat format, size_t rank) {
  llvm::SmallVector<int64_t, 5> order;
  bool isLast = format != MemoryFormat::Contiguous && rank >= 4;
  for (size_t i = 0; i < rank; ++i)
    if (!isLast || i != 1)
      order.push_back(static_cast<int64_t>(i));
  if (isLast)
    order.push_back(1);
  return order;
}

MemoryFormat permuteFormat(const TensorType &input, llvm::ArrayRef<int64_t> permutation) {
  size_t rank = input.getRank();
  llvm::SmallVector<int64_t, 5> order;
  for (int64_t old : getStrideOrder(input.format, rank))
    order.push_back(llvm::find(permutation, old) - permutation.begin());
  MemoryFormat last = getChannelsLast(rank);
  return order == getStrideOrder(last, rank) ? last : MemoryFormat::Contiguous;
}

llvm::Expected<TensorType> reshapeTo(const InferContext &context, const TensorType &input, Shape shape) {
  TensorType result = input;
  result.shape = std::move(shape);
  // The same shape is the same tensor; any other lies in logical order.
  if (llvm::ArrayRef<Dim>(result.shape) != llvm::ArrayRef<Dim>(input.shape))
    result.format = MemoryFormat::Contiguous;
  if (!input.quantizer || input.quantizer->isPerTensor())
    return result;
  size_t axis = static_cast<size_t>(input.quantizer->getAxis());
  llvm::ArrayRef<Dim> before = input.shape, after = result.shape;
  bool keepsAxis = axis < after.size() && before[axis] == after[axis] &&
                   multiplyAll(before.take_front(axis)) == multiplyAll(after.take_front(axis));
  if (!keepsAxis)
    return context.fail("quantized", "moves the channel axis {0} of a per-channel tensor: {1} to {2}", axis,
                        toString(before), toString(after));
  return result;
}

} // namespace qfx
