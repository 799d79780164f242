// Batch norm from codes to codes (operators 9.1).
#include "kernels/elementwise/QuantizedBatchNorm.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"

#include <vector>

namespace qfx::runtime {

namespace {

struct Folded {
  std::vector<float> alpha, beta;
};

llvm::Expected<RuntimeValue> emitBatchNorm(BindContext &context, bool relu) {
  llvm::Expected<CodeOperand> input = getCodeTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<kernels::QParams> output = getResultParams(context, *type);
  if (!output)
    return output.takeError();
  if (input->view.getRank() < 2)
    return context.fail("needs rank 2 or more, got {0}", toString(input->view.type));
  int64_t channels = input->view.sizes[1];
  Tensor tensors[4];
  const char *names[] = {"weight", "bias", "running_mean", "running_var"};
  for (int i = 0; i < 4; ++i) {
    llvm::Expected<Tensor> tensor = context.getConstant(names[i]);
    if (!tensor)
      return tensor.takeError();
    if (tensor->getDType() != DType::Float32 || tensor->getNumElements() != channels)
      return context.fail("'{0}' must be {1} float32 numbers, got {2}", names[i], channels,
                          toString(tensor->getType()));
    tensors[i] = *tensor;
  }
  llvm::Expected<double> eps = context.attrs().getNumber("eps");
  if (!eps)
    return eps.takeError();
  auto folded = std::make_shared<Folded>();
  folded->alpha.resize(static_cast<size_t>(channels));
  folded->beta.resize(static_cast<size_t>(channels));
  kernels::foldQuantizedBatchNorm(channels, tensors[0].getData<float>().data(), tensors[1].getData<float>().data(),
                                  tensors[2].getData<float>().data(), tensors[3].getData<float>().data(),
                                  static_cast<float>(*eps), input->params, *output, folded->alpha.data(),
                                  folded->beta.data());
  View src = context.toOrder(input->view, StorageOrder::ChannelsLast);
  View dst = context.allocate(*type, src.strides);
  const kernels::QuantizedBatchNormKernels &kernels = kernels::selectQuantizedBatchNorm();
  kernels::QuantizedBatchNormParams params{input->params.zeroPoint, output->zeroPoint, relu};
  int64_t rows = src.getNumElements() / std::max<int64_t>(channels, 1);
  StepTraits traits;
  traits.inPlaceSrc = &src;
  context.emit(
      {&src}, {&dst},
      [src, dst, folded, &kernels, params, rows, channels, isSigned = input->isSigned()](RunContext &run) {
        run.parallelFor(rows, kElementGrain / channels + 1, [&](int64_t begin, int64_t end, void *) {
          for (int64_t r = begin; r < end; ++r) {
            if (isSigned)
              kernels.rowS8(src.getData<int8_t>() + r * channels, dst.getData<int8_t>() + r * channels, channels,
                            folded->alpha.data(), folded->beta.data(), params);
            else
              kernels.rowU8(src.getData<uint8_t>() + r * channels, dst.getData<uint8_t>() + r * channels, channels,
                            folded->alpha.data(), folded->beta.data(), params);
          }
        });
      },
      traits);
  return RuntimeValue(dst);
}

} // namespace

llvm::Expected<RuntimeValue> bindQuantizedBatchNorm(BindContext &context) { return emitBatchNorm(context, false); }
llvm::Expected<RuntimeValue> bindQuantizedBatchNormRelu(BindContext &context) { return emitBatchNorm(context, true); }

} // namespace qfx::runtime
