// Dynamic convolutions: the input's range gives the parameters of both input and output (operators 11.3).
#include "backends/native/ConvCall.h"
#include "backends/observe/ChooseQuantizationParams.h"
#include "backends/runtime/Kernels.h"
#include "kernels/histogram/Histogram.h"
#include "kernels/quantize/Quantize.h"

namespace qfx::runtime {

llvm::Expected<RuntimeValue> bindDynamicConv(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<bool> reduceRange = context.attrs().getBool("reduce_range");
  if (!reduceRange)
    return reduceRange.takeError();
  // Padding with real zeros first changes no range: zero always counts.
  llvm::Expected<ConvCall> prepared = prepareConvCall(context, *input, /*padByte=*/0, kernels::TileOutput::Code);
  if (!prepared)
    return prepared.takeError();
  auto call = std::make_shared<ConvCall>(std::move(*prepared));
  View src = context.toOrder(call->src, StorageOrder::ChannelsLast);
  TensorType codeType = src.type;
  codeType.dtype = DType::QUInt8;
  View codes = context.allocate(codeType, StorageOrder::ChannelsLast);
  codeType.shape = type->shape;
  View results = context.allocate(codeType, StorageOrder::ChannelsLast);
  View dst = context.allocate(*type, StorageOrder::ChannelsLast);
  std::shared_ptr<std::byte> tables = context.allocatePacked(kernels::getRequantBytes(dst.sizes[1]));
  const kernels::HistogramKernels &ranges = kernels::selectHistogram();
  const kernels::QuantizeKernels &quantize = kernels::selectQuantize();
  ChooseOptions options;
  options.reduceRange = *reduceRange && !context.getBuilder().usesStageQ(); // qnnpack ignores it
  StepTraits traits;
  traits.scratchBytes = kernels::getConvScratchBytes(call->plan);
  context.emit(
      {&src}, {&dst, &codes, &results},
      [=, &ranges, &quantize](RunContext &run) {
        const int64_t count = src.getNumElements(), outputs = dst.getNumElements();
        kernels::MinMax range = ranges.minMax(src.getData<float>(), count);
        llvm::Expected<ChosenQParams> chosen = chooseQuantizationParams(range.min, range.max, 0, 255, options);
        if (!chosen)
          return run.fail(chosen.takeError());
        const kernels::QParams params{chosen->scale, chosen->zeroPoint};
        run.parallelFor(count, kElementGrain, [&](int64_t begin, int64_t end, void *) {
          quantize.quantizeU8(src.getData<float>() + begin, codes.getData<uint8_t>() + begin, end - begin, params);
        });
        kernels::RequantParams stage =
            prepareDynamicRequant(call->weights, params, call->depth(), call->weightSum(), tables.get());
        run.parallelFor(call->plan.units(), call->getGrain(), [&](int64_t begin, int64_t end, void *scratch) {
          kernels::runConv(call->plan, stage, kernels::TileOutput::Code, params.zeroPoint, codes.getData<uint8_t>(),
                           codes.sizes[1], results.getBytes(), results.sizes[1], scratch, begin, end);
        });
        run.parallelFor(outputs, kElementGrain, [&](int64_t begin, int64_t end, void *) {
          quantize.dequantizeU8(results.getData<uint8_t>() + begin, dst.getData<float>() + begin, end - begin, params);
        });
      },
      traits);
  return RuntimeValue(dst);
}

} // namespace qfx::runtime
