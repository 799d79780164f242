// Preparing a quantized convolution; a transposed one runs as a convolution over its spread-out input.
#include "backends/native/ConvCall.h"

#include "backends/runtime/CopyStep.h"
#include "ir/Module.h"
#include "ir/Text.h"
#include "kernels/layout/Layout.h"

#include <algorithm>

namespace qfx::runtime {

/// Elements to put between neighbours and around them, along one spatial axis; negative: cut off.
struct Spread {
  int64_t stride = 1, before = 0, after = 0;
};

static llvm::Expected<llvm::SmallVector<int64_t, 4>> readOutputPadding(BindContext &context, const Module *packed) {
  llvm::SmallVector<int64_t, 4> numbers;
  if (!packed)
    return context.attrs().getInts("output_padding");
  const Argument *given = packed->findAttribute("output_padding");
  if (given && given->isInt())
    numbers.push_back(given->getInt());
  else if (given && given->isSequence())
    for (const Argument &element : given->getElements())
      numbers.push_back(element.isInt() ? element.getInt() : 0);
  return numbers;
}

/// The input with `stride - 1` padding elements between neighbours: every product of a transposed convolution then is
/// one of a plain convolution (operators 5.3).
static View emitSpread(BindContext &context, const View &input, llvm::ArrayRef<Spread> spreads, uint8_t padByte) {
  TensorType type = input.type;
  for (size_t i = 0; i < spreads.size(); ++i) {
    const Spread &spread = spreads[i];
    type.shape[2 + i] = Dim((input.sizes[2 + i] - 1) * spread.stride + 1 + spread.before + spread.after);
  }
  View dst = context.allocate(type, StorageOrder::ChannelsLast), from = input, to = dst;
  for (size_t i = 0; i < spreads.size(); ++i) {
    const Spread &spread = spreads[i];
    const int64_t first = spread.before < 0 ? (-spread.before + spread.stride - 1) / spread.stride : 0;
    const int64_t room = dst.sizes[2 + i] - 1 - spread.before;
    const int64_t last = room < 0 ? -1 : std::min(input.sizes[2 + i] - 1, room / spread.stride);
    from.offset += first * input.strides[2 + i];
    to.offset += (spread.before + first * spread.stride) * dst.strides[2 + i];
    to.strides[2 + i] = dst.strides[2 + i] * spread.stride;
    from.sizes[2 + i] = to.sizes[2 + i] = std::max<int64_t>(0, last - first + 1);
  }
  context.emit({&input}, {&dst}, [dst, from, to, padByte](RunContext &run) {
    kernels::fillElements(dst.getBytes(), 1, dst.getNumElements() * dst.getElemBytes(), &padByte);
    if (from.getNumElements() > 0)
      runCopy(run, from, to);
  });
  return dst;
}

/// Turns the geometry into that of the plain convolution and spreads the input where it must be.
static llvm::Expected<View> prepareTransposed(BindContext &context, const View &input, ConvArguments &arguments,
                                              llvm::ArrayRef<int64_t> outputPadding,
                                              llvm::ArrayRef<int64_t> weightSizes, uint8_t padByte) {
  const size_t spatial = weightSizes.size() - 2;
  auto at = [&](llvm::ArrayRef<int64_t> list, size_t i, int64_t none) {
    return list.empty() ? none : list[list.size() >= spatial ? list.size() - spatial + i : list.size() - 1];
  };
  llvm::SmallVector<int64_t, 4> padding;
  if (arguments.padding.isInt())
    padding.push_back(arguments.padding.getInt());
  else if (arguments.padding.isSequence())
    for (const Argument &element : arguments.padding.getElements())
      padding.push_back(element.isInt() ? element.getInt() : 0);
  llvm::SmallVector<Spread, 3> spreads;
  bool isPlain = true; // symmetric padding of the convolution does it
  llvm::SmallVector<int64_t, 4> ones, plain, none;
  for (size_t i = 0; i < spatial; ++i) {
    Spread spread;
    spread.stride = at(arguments.stride, i, 1);
    spread.before = at(arguments.dilation, i, 1) * (weightSizes[2 + i] - 1) - at(padding, i, 0);
    spread.after = spread.before + at(outputPadding, i, 0);
    isPlain &= spread.stride == 1 && spread.before == spread.after && spread.before >= 0;
    spreads.push_back(spread);
    ones.push_back(1);
    plain.push_back(spread.before);
    none.push_back(0);
  }
  arguments.stride = ones;
  arguments.padding = Argument::ints(isPlain ? plain : none);
  return isPlain ? input : emitSpread(context, input, spreads, padByte);
}

/// Multiply-adds, those of depthwise convolutions, which take some 8 times as long each, counted so.
static int64_t countProducts(const kernels::ConvShape &shape, const kernels::ConvSizes &sizes) {
  return sizes.outPixels() * shape.outChannels * shape.reduction() * (shape.isDepthwise() ? 8 : 1);
}

llvm::Expected<ConvCall> prepareConvCall(BindContext &context, const View &input, uint8_t padByte,
                                         kernels::TileOutput output) {
  const bool isTransposed = endsWith(context.getOp().name.drop_back(2), "Transpose");
  std::shared_ptr<const Module> module;
  if (context.has("packed")) {
    llvm::Expected<std::shared_ptr<const Module>> packed = context.getPacked("packed");
    if (!packed)
      return packed.takeError();
    module = *packed;
  }
  llvm::Expected<ConvArguments> arguments = module ? readConvArguments(*module) : readConvArguments(context.attrs());
  if (!arguments)
    return arguments.takeError();
  llvm::Expected<QuantizedWeights> weights =
      isTransposed ? getTransposedWeights(context, arguments->groups) : getQuantizedWeights(context);
  if (!weights)
    return weights.takeError();
  llvm::ArrayRef<int64_t> weightSizes = weights->weight.getSizes();
  if (input.getRank() != weightSizes.size())
    return context.fail("the input must have rank {0}, got {1}", weightSizes.size(), toString(input.type));
  View view = input;
  if (isTransposed) {
    if (arguments->paddingMode != "zeros")
      return context.fail("padding_mode must be 'zeros', got '{0}'", arguments->paddingMode);
    llvm::Expected<llvm::SmallVector<int64_t, 4>> extra = readOutputPadding(context, module.get());
    if (!extra)
      return extra.takeError();
    llvm::Expected<View> spread = prepareTransposed(context, input, *arguments, *extra, weightSizes, padByte);
    if (!spread)
      return spread.takeError();
    view = *spread;
  }
  llvm::Expected<ConvGeometry> geometry = makeConvGeometry(context, *arguments, weightSizes, view.sizes[1]);
  if (!geometry)
    return geometry.takeError();
  const kernels::ConvShape shape = geometry->shape;
  kernels::ConvKernels kernels = kernels::selectConv(kernels::getCurrentIsa());
  if (output == kernels::TileOutput::Float)
    kernels.depthwise = nullptr;
  auto cached =
      context.getCached<PackedQuantizedConv>("conv", [&]() -> llvm::Expected<std::shared_ptr<PackedQuantizedConv>> {
        auto made = std::make_shared<PackedQuantizedConv>();
        made->memory = context.allocatePacked(kernels::getPackedConvBytes(shape, kernels));
        made->packed = kernels::packConv(shape, kernels, weights->weight.getData<int8_t>().data(), made->memory.get());
        releasePages(weights->weight);
        return made;
      });
  if (!cached)
    return cached.takeError();
  llvm::Expected<View> prepared = prepareConvInput(context, view, *geometry, padByte);
  if (!prepared)
    return prepared.takeError();
  ConvCall call;
  call.weights = std::move(*weights);
  call.packed = *cached;
  call.src = *prepared;
  int64_t in[3] = {1, 1, 1};
  for (size_t i = 0; i < geometry->spatial; ++i)
    in[3 - geometry->spatial + i] = call.src.sizes[2 + i];
  const int64_t products = countProducts(shape, kernels::ConvSizes(shape, call.src.sizes[0], in));
  call.plan = kernels::planConv(call.packed->packed, call.src.sizes[0], in, getUsefulThreads(context.getThreads(), products));
  return call;
}

int64_t ConvCall::getGrain() const {
  return getProductGrain(countProducts(plan.weights.shape, plan.sizes) / std::max<int64_t>(plan.units(), 1));
}

} // namespace qfx::runtime
