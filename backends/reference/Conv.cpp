// Float convolutions.
#include "backends/reference/FloatConv.h"

#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/ConvGeometry.h"
#include "backends/runtime/Kernels.h"
#include "backends/runtime/PadStep.h"
#include "kernels/fconv/Fconv.h"
#include "kernels/fconv/Fdepthwise.h"

namespace qfx::runtime {

namespace {

struct PackedFloatConv {
  const kernels::SgemmKernel *kernel;
  const kernels::FdepthwiseKernels *depthwise = nullptr; ///< null: by matrix product
  std::shared_ptr<std::byte> weight;
  Tensor bias;
};

std::shared_ptr<PackedFloatConv> packWeights(BindContext &context, const kernels::ConvShape &shape,
                                             const Tensor &weight, const Tensor &bias) {
  auto packed = std::make_shared<PackedFloatConv>();
  packed->kernel = &kernels::selectSgemm();
  packed->bias = bias;
  const float *data = weight.getData<float>().data();
  if (kernels::isFdepthwise(shape)) {
    packed->depthwise = &kernels::selectFdepthwise();
    packed->weight =
        context.allocatePacked(kernels::getFdepthwisePackedSize(shape) * static_cast<int64_t>(sizeof(float)));
    kernels::packFdepthwise(shape, data, reinterpret_cast<float *>(packed->weight.get()));
  } else {
    packed->weight = context.allocatePacked(kernels::getFconvPackedSize(*packed->kernel, shape) *
                                            static_cast<int64_t>(sizeof(float)));
    kernels::packFconv(*packed->kernel, shape, data, reinterpret_cast<float *>(packed->weight.get()));
  }
  return packed;
}

} // namespace

llvm::Expected<RuntimeValue> emitFloatConv(BindContext &context, const View &input, const Tensor &weight,
                                           const Tensor &bias) {
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  if (weight.getDType() != DType::Float32)
    return context.fail("weight must be float32, got {0}", toString(weight.getType()));
  if (bias && bias.getDType() != DType::Float32)
    return context.fail("bias must be float32, got {0}", toString(bias.getType()));
  bool isBatched = input.getRank() == weight.getRank();
  if (!isBatched && input.getRank() + 1 != weight.getRank())
    return context.fail("the input must have rank {0}, got {1}", weight.getRank(), toString(input.type));
  llvm::Expected<ConvArguments> arguments = readConvArguments(context.attrs());
  if (!arguments)
    return arguments.takeError();
  llvm::Expected<ConvGeometry> geometry =
      makeConvGeometry(context, *arguments, weight.getSizes(), input.sizes[isBatched ? 1 : 0]);
  if (!geometry)
    return geometry.takeError();
  kernels::ConvShape shape = geometry->shape;
  auto packed = context.getCached<PackedFloatConv>("fconv", [&]() -> llvm::Expected<std::shared_ptr<PackedFloatConv>> {
    return packWeights(context, shape, weight, bias);
  });
  if (!packed)
    return packed.takeError();
  llvm::Expected<View> prepared = prepareConvInput(context, input, *geometry, /*padCode=*/0);
  if (!prepared)
    return prepared.takeError();
  View src = *prepared;
  kernels::ConvSizes sizes = getConvSizes(src, *geometry);
  ClampRange clamp = context.absorbClamp();
  TensorType dstType = *type;
  if (!isBatched)
    dstType.shape.insert(dstType.shape.begin(), Dim(1));
  View dst = context.allocate(dstType, StorageOrder::ChannelsLast);
  std::shared_ptr<PackedFloatConv> weights = *packed;
  StepTraits traits;
  traits.scratchBytes = weights->depthwise ? kernels::getFdepthwiseScratchBytes(shape)
                                           : kernels::getFconvScratchBytes(*weights->kernel, shape);
  int64_t srcStride = getPixelStride(src).value_or(shape.inChannels);
  // Whole tiles of rows per thread.
  int64_t unit = std::max(weights->kernel->rows, 1);
  int64_t grain = getProductGrain(unit * shape.outChannels * shape.reduction());
  context.emit(
      {&src}, {&dst},
      [src, dst, weights, shape, sizes, clamp, srcStride, unit, grain](RunContext &run) {
        kernels::FconvArgs args;
        args.src = src.getData<float>();
        args.srcStride = srcStride;
        args.packed = reinterpret_cast<const float *>(weights->weight.get());
        args.bias = weights->bias ? weights->bias.getData<float>().data() : nullptr;
        args.lo = clamp.lo;
        args.hi = clamp.hi;
        args.dst = dst.getData<float>();
        args.dstStride = shape.outChannels;
        int64_t pixels = sizes.outPixels();
        run.parallelFor((pixels + unit - 1) / unit, grain, [&](int64_t begin, int64_t end, void *scratch) {
          int64_t first = begin * unit, last = std::min(end * unit, pixels);
          if (weights->depthwise)
            kernels::fdepthwise(*weights->depthwise, shape, sizes, args, first, last, scratch);
          else
            kernels::fconv(*weights->kernel, shape, sizes, args, first, last, scratch);
        });
      },
      traits);
  return RuntimeValue(isBatched ? dst : squeezed(dst, 0));
}

llvm::Expected<RuntimeValue> bindConv(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<Tensor> weight = context.getConstant("weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<Tensor> bias = context.getOptionalConstant("bias");
  if (!bias)
    return bias.takeError();
  return emitFloatConv(context, *input, *weight, *bias);
}

} // namespace qfx::runtime
