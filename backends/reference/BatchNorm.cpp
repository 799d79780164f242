// Float batch norm with stored statistics: a scale and a shift per channel.
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "ir/Module.h"
#include "kernels/reduce/Reduce.h"

#include <vector>

namespace qfx::runtime {

namespace {

struct FoldedNorm {
  std::vector<float> scale, shift;
};

/// f32 data of `channels` elements, or null for a null tensor.
llvm::Expected<const float *> getData(BindContext &context, const Tensor &tensor, const char *name, int64_t channels) {
  if (!tensor)
    return nullptr;
  if (tensor.getDType() != DType::Float32 || tensor.getNumElements() != channels)
    return context.fail("'{0}' must be {1} float32 numbers, got {2}", name, channels, toString(tensor.getType()));
  return tensor.getData<float>().data();
}

llvm::Expected<std::shared_ptr<FoldedNorm>> fold(BindContext &context, int64_t channels) {
  const char *names[] = {"weight", "bias", "running_mean", "running_var"};
  Tensor tensors[4];
  const float *data[4];
  for (int i = 0; i < 4; ++i) {
    llvm::Expected<Tensor> tensor = context.getOptionalConstant(names[i]);
    if (!tensor)
      return tensor.takeError();
    tensors[i] = *tensor;
    llvm::Expected<const float *> pointer = getData(context, tensors[i], names[i], channels);
    if (!pointer)
      return pointer.takeError();
    data[i] = *pointer;
  }
  if (!data[2] || !data[3])
    return context.fail("batch statistics (training, or no running_mean and running_var) are not supported");
  llvm::Expected<double> eps = context.attrs().getNumber("eps");
  if (!eps)
    return eps.takeError();
  auto folded = std::make_shared<FoldedNorm>();
  folded->scale.resize(static_cast<size_t>(channels));
  folded->shift.resize(static_cast<size_t>(channels));
  kernels::foldBatchNorm(channels, data[0], data[1], data[2], data[3], static_cast<float>(*eps), folded->scale.data(),
                         folded->shift.data());
  return folded;
}

} // namespace

llvm::Expected<RuntimeValue> bindBatchNorm(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  if (input->getRank() < 2)
    return context.fail("needs rank 2 or more, got {0}", toString(input->type));
  const BoundSlot *training = context.getCall().find("training");
  if (training && training->arg.isBool() && training->arg.getBool())
    return context.fail("batch statistics (training, or no running_mean and running_var) are not supported");
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  int64_t channels = input->sizes[1];
  auto folded = context.getCached<FoldedNorm>("batch_norm", [&] { return fold(context, channels); });
  if (!folded)
    return folded.takeError();
  std::shared_ptr<FoldedNorm> norm = *folded;
  const kernels::ReduceKernels &kernels = kernels::selectReduce();
  StepTraits traits;
  bool isPlanar = input->getRank() > 2 && hasOrder(input->sizes, input->strides, StorageOrder::RowMajor);
  View src = isPlanar ? *input : context.toOrder(*input, StorageOrder::ChannelsLast);
  View dst = context.allocate(*type, src.strides);
  traits.inPlaceSrc = &src;
  int64_t rows = src.getNumElements() / std::max<int64_t>(channels, 1);
  if (isPlanar) {
    int64_t planes = src.sizes[0] * channels, n = src.getNumElements() / std::max<int64_t>(planes, 1);
    context.emit(
        {&src}, {&dst},
        [src, dst, norm, &kernels, planes, channels, n](RunContext &run) {
          run.parallelFor(planes, kElementGrain / n + 1, [&](int64_t begin, int64_t end, void *) {
            for (int64_t p = begin; p < end; ++p)
              kernels.scaleShiftOne(src.getData<float>() + p * n, dst.getData<float>() + p * n, n,
                                    norm->scale[p % channels], norm->shift[p % channels]);
          });
        },
        traits);
    return RuntimeValue(dst);
  }
  context.emit(
      {&src}, {&dst},
      [src, dst, norm, &kernels, rows, channels](RunContext &run) {
        run.parallelFor(rows, kElementGrain / channels + 1, [&](int64_t begin, int64_t end, void *) {
          for (int64_t r = begin; r < end; ++r)
            kernels.scaleShift(src.getData<float>() + r * channels, dst.getData<float>() + r * channels, channels,
                               norm->scale.data(), norm->shift.data());
        });
      },
      traits);
  return RuntimeValue(dst);
}

} // namespace qfx::runtime
