// Quantized convolutions: exact int8 sums and a fused output stage.
#include "backends/native/CodeSteps.h"
#include "backends/native/ConvCall.h"
#include "backends/runtime/Kernels.h"

namespace qfx::runtime {

namespace {

/// The input and the result's parameters of a static convolution.
struct StaticConv {
  CodeOperand input;
  TensorType type;
  kernels::QParams output;
};

llvm::Expected<StaticConv> readStaticConv(BindContext &context) {
  llvm::Expected<CodeOperand> input = getCodeTensor(context, "input");
  if (!input)
    return input.takeError();
  if (input->view.getDType() != DType::QUInt8)
    return context.fail("the input must be quint8, got {0}", toString(input->view.type));
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<kernels::QParams> output = getResultParams(context, *type);
  if (!output)
    return output.takeError();
  return StaticConv{*input, *type, *output};
}

void emitRun(BindContext &context, const ConvCall &call, const RequantTables &tables, kernels::TileOutput output,
             int32_t zeroPoint, const View &dst) {
  StepTraits traits;
  traits.scratchBytes = kernels::getConvScratchBytes(call.plan);
  const View src = call.src;
  const int64_t srcStride = getPixelStride(src).value_or(src.sizes[1]), grain = call.getGrain();
  context.emit(
      {&src}, {&dst},
      [src, dst, packed = call.packed, plan = call.plan, tables, output, srcStride, grain, zeroPoint](RunContext &run) {
        run.parallelFor(plan.units(), grain, [&](int64_t begin, int64_t end, void *scratch) {
          kernels::runConv(plan, tables.params, output, zeroPoint, src.getData<uint8_t>(), srcStride, dst.getBytes(),
                           dst.sizes[1], scratch, begin, end);
        });
      },
      traits);
}

llvm::Expected<RuntimeValue> emitQuantizedConv(BindContext &context, bool relu) {
  llvm::Expected<StaticConv> conv = readStaticConv(context);
  if (!conv)
    return conv.takeError();
  const int32_t zeroPoint = conv->input.params.zeroPoint;
  llvm::Expected<ConvCall> call =
      prepareConvCall(context, conv->input.view, static_cast<uint8_t>(zeroPoint), kernels::TileOutput::Code);
  if (!call)
    return call.takeError();
  llvm::Expected<RequantTables> tables =
      makeRequantTables(context, call->weights, conv->input, conv->output, relu, call->depth(), call->weightSum());
  if (!tables)
    return tables.takeError();
  View dst = context.allocate(conv->type, StorageOrder::ChannelsLast);
  emitRun(context, *call, *tables, kernels::TileOutput::Code, zeroPoint, dst);
  return RuntimeValue(dst);
}

/// The float result of the convolution plus the other operand's reals, quantized once (operators 5.1, known_traps B13).
llvm::Expected<RuntimeValue> emitConvAdd(BindContext &context, bool relu) {
  llvm::Expected<StaticConv> conv = readStaticConv(context);
  if (!conv)
    return conv.takeError();
  llvm::Expected<CodeOperand> other = getCodeTensor(context, "other");
  if (!other)
    return other.takeError();
  if (other->view.getDType() != DType::QUInt8)
    return context.fail("the addend must be quint8, got {0}", toString(other->view.type));
  const int32_t zeroPoint = conv->input.params.zeroPoint;
  llvm::Expected<ConvCall> call =
      prepareConvCall(context, conv->input.view, static_cast<uint8_t>(zeroPoint), kernels::TileOutput::Float);
  if (!call)
    return call.takeError();
  RequantTables tables =
      makeDequantTables(context, call->weights, conv->input.params, call->depth(), call->weightSum());
  TensorType floatType = conv->type;
  floatType.dtype = DType::Float32;
  floatType.quantizer = nullptr;
  View sums = context.allocate(floatType, StorageOrder::ChannelsLast);
  emitRun(context, *call, tables, kernels::TileOutput::Float, zeroPoint, sums);
  View addend = context.toOrder(other->view, StorageOrder::ChannelsLast);
  View dst = context.allocate(conv->type, StorageOrder::ChannelsLast);
  const kernels::QuantizeKernels &kernels = kernels::selectQuantize();
  emitFromFloats(context, {&sums, &addend}, sums, dst, conv->output,
                 [addend, params = other->params, relu, &kernels](int64_t begin, float *values, int64_t n) {
                   float other[kFloatChunk];
                   kernels.dequantizeU8(addend.getData<uint8_t>() + begin, other, n, params);
                   for (int64_t i = 0; i < n; ++i) {
                     float sum = values[i] + other[i];
                     values[i] = relu && !(sum > 0) ? 0.0f : sum;
                   }
                 });
  return RuntimeValue(dst);
}

} // namespace

llvm::Expected<RuntimeValue> bindQuantizedConv(BindContext &context) { return emitQuantizedConv(context, false); }
llvm::Expected<RuntimeValue> bindQuantizedConvRelu(BindContext &context) { return emitQuantizedConv(context, true); }
llvm::Expected<RuntimeValue> bindQuantizedConvAdd(BindContext &context) { return emitConvAdd(context, false); }
llvm::Expected<RuntimeValue> bindQuantizedConvAddRelu(BindContext &context) { return emitConvAdd(context, true); }

} // namespace qfx::runtime
