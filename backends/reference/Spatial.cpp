// Padding, pixel shuffles and repetition: elements of any dtype moved to other places.
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "backends/runtime/PadStep.h"
#include "kernels/elementwise/CodeLut.h"

#include <cstring>

namespace qfx::runtime {

/// One element of the value that constant padding writes; codes take it through their quantizer (operators 8.6).
static llvm::Expected<std::array<std::byte, 8>> makePadElement(BindContext &context, const View &input) {
  double value = 0;
  if (context.attrs().hasValue("value")) {
    llvm::Expected<double> given = context.attrs().getNumber("value");
    if (!given)
      return given.takeError();
    value = *given;
  }
  std::array<std::byte, 8> element = {};
  auto put = [&](auto number) { std::memcpy(element.data(), &number, sizeof number); };
  switch (input.getDType()) {
  case DType::Float32:
    put(static_cast<float>(value));
    break;
  case DType::QUInt8:
  case DType::QInt8: {
    llvm::Expected<QuantizerRef> quantizer = context.getQuantizer(input);
    if (!quantizer)
      return quantizer.takeError();
    const kernels::CodeType code = input.getDType() == DType::QInt8 ? kernels::CodeType::S8 : kernels::CodeType::U8;
    put(static_cast<uint8_t>(kernels::quantizeValue(static_cast<float>(value), code, toQParams(**quantizer))));
    break;
  }
  case DType::Int64:
    put(static_cast<int64_t>(value));
    break;
  case DType::Int32:
    put(static_cast<int32_t>(value));
    break;
  case DType::Bool:
    put(static_cast<uint8_t>(value != 0));
    break;
  default:
    return context.fail("takes float32, quint8, qint8, int32, int64 and bool, got {0}", toString(input.type));
  }
  return element;
}

llvm::Expected<RuntimeValue> bindPad(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  const TargetInfo &target = *context.getCall().target;
  const size_t sides =
      context.getCall().module ? 2 * static_cast<size_t>(target.text[target.text.size() - 2] - '0') : 0;
  llvm::Expected<llvm::SmallVector<int64_t, 4>> pads = context.attrs().getInts("pad", sides);
  if (!pads)
    return pads.takeError();
  Padding padding;
  const std::string &mode = context.getCall().get("mode").arg.getString();
  std::optional<PadMode> parsed = parsePadMode(mode);
  if (!parsed)
    return context.fail("mode '{0}' is unknown", mode);
  padding.mode = *parsed;
  for (size_t i = 0; i < pads->size() / 2; ++i) // the last dimension comes first
    padding.dims.push_back({input->getRank() - 1 - i, (*pads)[2 * i], (*pads)[2 * i + 1]});
  if (llvm::Error err = checkPadding(context, *input, padding))
    return err;
  if (padding.mode == PadMode::Constant) {
    llvm::Expected<std::array<std::byte, 8>> element = makePadElement(context, *input);
    if (!element)
      return element.takeError();
    padding.value = *element;
  }
  return RuntimeValue(emitPad(context, *input, padding));
}

/// A dimension of size a * b seen as two.
static View splitDim(View view, size_t dim, int64_t inner) {
  const int64_t stride = view.strides[dim];
  view.sizes[dim] /= inner;
  view.strides[dim] = stride * inner;
  view.sizes.insert(view.sizes.begin() + dim + 1, inner);
  view.strides.insert(view.strides.begin() + dim + 1, stride);
  return view;
}

static View moveDim(View view, size_t from, size_t to) {
  const int64_t size = view.sizes[from], stride = view.strides[from];
  view.sizes.erase(view.sizes.begin() + from);
  view.strides.erase(view.strides.begin() + from);
  view.sizes.insert(view.sizes.begin() + to, size);
  view.strides.insert(view.strides.begin() + to, stride);
  return view;
}

/// [..., c r r, h, w] -> [..., c, h r, w r] or back: both seen as [..., c, h, r, w, r].
static llvm::Expected<RuntimeValue> bindShuffle(BindContext &context, llvm::StringRef slot, bool isUnshuffle) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<int64_t> factor = context.attrs().getInt(slot);
  if (!factor)
    return factor.takeError();
  if (input->getRank() > 6)
    return context.fail("takes at most rank 6, got {0}", toString(input->type));
  View dst = context.allocate(*type, getDefaultOrder(type->getRank()));
  const View &deep = isUnshuffle ? dst : *input, &wide = isUnshuffle ? *input : dst;
  const size_t channel = deep.getRank() - 3;
  // [..., c r r, h, w] -> [..., c, r, r, h, w] -> [..., c, h, r, w, r]
  View from = splitDim(splitDim(deep, channel, *factor * *factor), channel + 1, *factor);
  from = moveDim(from, channel + 1, channel + 3); // c r2 h r1 w
  from = moveDim(from, channel + 1, channel + 4); // c h r1 w r2
  View to = splitDim(splitDim(wide, channel + 2, *factor), channel + 1, *factor);
  if (isUnshuffle)
    std::swap(from, to);
  context.copy(from, to);
  return RuntimeValue(dst);
}

llvm::Expected<RuntimeValue> bindPixelShuffle(BindContext &context) {
  return bindShuffle(context, "upscale_factor", /*isUnshuffle=*/false);
}
llvm::Expected<RuntimeValue> bindPixelUnshuffle(BindContext &context) {
  return bindShuffle(context, "downscale_factor", /*isUnshuffle=*/true);
}

/// Every dimension as [times, size], the repetition with stride 0.
llvm::Expected<RuntimeValue> bindRepeat(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  View dst = context.allocate(*type, getDefaultOrder(type->getRank()));
  View from = *input, to = dst;
  while (from.getRank() < dst.getRank())
    from = unsqueezed(from, 0);
  for (size_t i = dst.getRank(); i-- > 0;) {
    const int64_t size = from.sizes[i];
    if (to.sizes[i] == size)
      continue;
    to = splitDim(to, i, size);
    from.sizes.insert(from.sizes.begin() + i, to.sizes[i]);
    from.strides.insert(from.strides.begin() + i, 0);
  }
  if (from.getRank() > 8)
    return context.fail("repeats too many dimensions of {0}", toString(input->type));
  context.copy(from, to);
  return RuntimeValue(dst);
}

} // namespace qfx::runtime
