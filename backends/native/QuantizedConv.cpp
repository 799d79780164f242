// Quantized convolutions: exact int8 sums and a fused output stage.
#include "backends/native/QuantizedWeights.h"
#include "backends/runtime/Kernels.h"
#include "kernels/conv/Conv.h"

namespace qfx::runtime {

namespace {

struct PackedQuantizedConv {
  kernels::PackedConv packed;
  std::shared_ptr<std::byte> memory;
};

llvm::Expected<RuntimeValue> emitQuantizedConv(BindContext &context, bool relu) {
  llvm::Expected<CodeOperand> input = getCodeTensor(context, "input");
  if (!input)
    return input.takeError();
  if (input->view.getDType() != DType::QUInt8)
    return context.fail("the input must be quint8, got {0}", toString(input->view.type));
  llvm::Expected<QuantizedWeights> weights = getQuantizedWeights(context);
  if (!weights)
    return weights.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<kernels::QParams> output = getResultParams(context, *type);
  if (!output)
    return output.takeError();
  llvm::Expected<ConvArguments> arguments =
      weights->packed ? readConvArguments(*weights->packed) : readConvArguments(context.attrs());
  if (!arguments)
    return arguments.takeError();
  // Packed 1-d weights may stand as 2-d ones of height 1 (operators 5.4).
  View view = input->view;
  llvm::ArrayRef<int64_t> weightSizes = weights->weight.getSizes();
  if (view.getRank() != weightSizes.size())
    return context.fail("the input must have rank {0}, got {1}", weightSizes.size(), toString(view.type));
  llvm::Expected<ConvGeometry> geometry = makeConvGeometry(context, *arguments, weightSizes, view.sizes[1]);
  if (!geometry)
    return geometry.takeError();
  kernels::ConvShape shape = geometry->shape;
  auto cached =
      context.getCached<PackedQuantizedConv>("conv", [&]() -> llvm::Expected<std::shared_ptr<PackedQuantizedConv>> {
        kernels::ConvKernels kernels = kernels::selectConv(kernels::getCurrentIsa());
        auto made = std::make_shared<PackedQuantizedConv>();
        made->memory = context.allocatePacked(kernels::getPackedConvBytes(shape, kernels));
        made->packed = kernels::packConv(shape, kernels, weights->weight.getData<int8_t>().data(), made->memory.get());
        releasePages(weights->weight);
        return made;
      });
  if (!cached)
    return cached.takeError();
  std::shared_ptr<PackedQuantizedConv> packed = *cached;
  llvm::Expected<RequantTables> tables =
      makeRequantTables(context, *weights, *input, *output, relu, shape.reduction(), packed->packed.weightSum);
  if (!tables)
    return tables.takeError();
  llvm::Expected<View> prepared =
      prepareConvInput(context, view, *geometry, static_cast<uint8_t>(input->params.zeroPoint));
  if (!prepared)
    return prepared.takeError();
  View src = *prepared;
  int64_t in[3] = {1, 1, 1};
  for (size_t i = 0; i < geometry->spatial; ++i)
    in[3 - geometry->spatial + i] = src.sizes[2 + i];
  kernels::ConvPlan plan = kernels::planConv(packed->packed, src.sizes[0], in, context.getThreads());
  View dst = context.allocate(*type, StorageOrder::ChannelsLast);
  StepTraits traits;
  traits.scratchBytes = kernels::getConvScratchBytes(plan);
  int64_t srcStride = getPixelStride(src).value_or(shape.inChannels);
  context.emit(
      {&src}, {&dst},
      [src, dst, packed, plan, tables = *tables, srcStride, zeroPoint = input->params.zeroPoint](RunContext &run) {
        run.parallelFor(plan.units(), 1, [&](int64_t begin, int64_t end, void *scratch) {
          kernels::runConv(plan, tables.params, kernels::TileOutput::Code, zeroPoint, src.getData<uint8_t>(), srcStride,
                           dst.getBytes(), dst.sizes[1], scratch, begin, end);
        });
      },
      traits);
  return RuntimeValue(dst);
}

} // namespace

llvm::Expected<RuntimeValue> bindQuantizedConv(BindContext &context) { return emitQuantizedConv(context, false); }
llvm::Expected<RuntimeValue> bindQuantizedConvRelu(BindContext &context) { return emitQuantizedConv(context, true); }

} // namespace qfx::runtime
