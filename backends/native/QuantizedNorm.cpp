// Layer, group and instance norm of codes (operators 9.2).
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "kernels/norm/CodeNorm.h"

#include <algorithm>
#include <vector>

namespace qfx::runtime {

namespace {

/// Operands that all norms have; weight and bias filled with 1 and 0 where there is none.
struct NormCall {
  CodeOperand input;
  TensorType type;
  kernels::CodeNormParams params;
  double eps = 0;
  std::shared_ptr<std::vector<float>> weight, bias;
};

llvm::Expected<std::shared_ptr<std::vector<float>>> readAffine(BindContext &context, llvm::StringRef slot,
                                                               int64_t count, float none) {
  llvm::Expected<Tensor> tensor = context.getOptionalConstant(slot);
  if (!tensor)
    return tensor.takeError();
  if (!*tensor)
    return std::make_shared<std::vector<float>>(static_cast<size_t>(count), none);
  if (tensor->getDType() != DType::Float32 || tensor->getNumElements() != count)
    return context.fail("'{0}' must be {1} float32 numbers, got {2}", slot, count, toString(tensor->getType()));
  llvm::ArrayRef<float> data = tensor->getData<float>();
  return std::make_shared<std::vector<float>>(data.begin(), data.end());
}

/// \param count  elements of weight and bias.
llvm::Expected<NormCall> readNorm(BindContext &context, llvm::function_ref<int64_t(const View &)> count) {
  llvm::Expected<CodeOperand> input = getCodeTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<kernels::QParams> output = getResultParams(context, *type);
  if (!output)
    return output.takeError();
  llvm::Expected<double> eps = context.attrs().getNumber("eps");
  if (!eps)
    return eps.takeError();
  NormCall call{*input, *type, {input->params.zeroPoint, *output}, *eps, nullptr, nullptr};
  const int64_t elements = count(input->view);
  auto weight = readAffine(context, "weight", elements, 1.0f), bias = readAffine(context, "bias", elements, 0.0f);
  if (!weight)
    return llvm::joinErrors(weight.takeError(), bias ? llvm::Error::success() : bias.takeError());
  if (!bias)
    return bias.takeError();
  call.weight = *weight;
  call.bias = *bias;
  return call;
}

template <class T> auto getLayerRow(const kernels::CodeNormKernels &kernels) {
  if constexpr (std::is_signed_v<T>)
    return kernels.layerS8;
  else
    return kernels.layerU8;
}

template <class T> auto getChannelRow(const kernels::CodeNormKernels &kernels) {
  if constexpr (std::is_signed_v<T>)
    return kernels.channelsS8;
  else
    return kernels.channelsU8;
}

template <class T> View emitLayerNorm(BindContext &context, const NormCall &call, int64_t width) {
  View src = context.toOrder(call.input.view, StorageOrder::RowMajor);
  View dst = context.allocate(call.type, StorageOrder::RowMajor);
  auto row = getLayerRow<T>(kernels::selectCodeNorm());
  const int64_t rows = src.getNumElements() / std::max<int64_t>(width, 1);
  context.emit({&src}, {&dst}, [=](RunContext &run) {
    run.parallelFor(rows, kElementGrain / std::max<int64_t>(width, 1) + 1, [&](int64_t begin, int64_t end, void *) {
      for (int64_t r = begin; r < end; ++r) {
        const T *from = src.getData<T>() + r * width;
        const kernels::NormStatistics statistics =
            kernels::makeNormStatistics(kernels::sumCodes(from, width), width, call.input.params, call.eps);
        row(from, dst.getData<T>() + r * width, width, statistics, call.weight->data(), call.bias->data(), call.params);
      }
    });
  });
  return dst;
}

/// Images with channels innermost: sums per channel, then per group, then one affine map per channel.
template <class T> View emitGroupNorm(BindContext &context, const NormCall &call, int64_t groups) {
  View src = context.toOrder(call.input.view, StorageOrder::ChannelsLast);
  View dst = context.allocate(call.type, StorageOrder::ChannelsLast);
  auto row = getChannelRow<T>(kernels::selectCodeNorm());
  const int64_t batch = src.sizes[0], channels = src.sizes[1], perGroup = channels / groups;
  const int64_t positions = src.getNumElements() / std::max<int64_t>(batch * channels, 1);
  StepTraits traits;
  traits.scratchBytes = channels * static_cast<int64_t>(sizeof(kernels::CodeSums) + 2 * sizeof(float));
  context.emit(
      {&src}, {&dst},
      [=](RunContext &run) {
        run.parallelFor(batch, getElementGrain(positions * channels), [&](int64_t begin, int64_t end, void *scratch) {
          auto *sums = static_cast<kernels::CodeSums *>(scratch);
          auto *mean = reinterpret_cast<float *>(sums + channels), *gain = mean + channels;
          for (int64_t n = begin; n < end; ++n) {
            const T *from = src.getData<T>() + n * positions * channels;
            T *to = dst.getData<T>() + n * positions * channels;
            std::fill_n(sums, channels, kernels::CodeSums{});
            kernels::sumCodeRows(from, positions, channels, sums);
            for (int64_t g = 0; g < groups; ++g) {
              kernels::CodeSums total;
              for (int64_t c = g * perGroup; c < (g + 1) * perGroup; ++c) {
                total.sum += sums[c].sum;
                total.squares += sums[c].squares;
              }
              const kernels::NormStatistics statistics =
                  kernels::makeNormStatistics(total, perGroup * positions, call.input.params, call.eps);
              for (int64_t c = g * perGroup; c < (g + 1) * perGroup; ++c) {
                mean[c] = statistics.mean;
                gain[c] = statistics.rstd * (*call.weight)[static_cast<size_t>(c)];
              }
            }
            for (int64_t p = 0; p < positions; ++p)
              row(from + p * channels, to + p * channels, channels, mean, gain, call.bias->data(), call.params);
          }
        });
      },
      traits);
  return dst;
}

llvm::Expected<RuntimeValue> bindGroups(BindContext &context, std::optional<int64_t> groups) {
  llvm::Expected<NormCall> call =
      readNorm(context, [](const View &input) { return input.getRank() < 2 ? 0 : input.sizes[1]; });
  if (!call)
    return call.takeError();
  const View &input = call->input.view;
  if (input.getRank() < 3)
    return context.fail("the input must have rank 3 or more, got {0}", toString(input.type));
  const int64_t count = groups.value_or(input.sizes[1]);
  if (count < 1 || input.sizes[1] % count != 0)
    return context.fail("{0} channels do not fall into {1} groups", input.sizes[1], count);
  return RuntimeValue(call->input.isSigned() ? emitGroupNorm<int8_t>(context, *call, count)
                                             : emitGroupNorm<uint8_t>(context, *call, count));
}

} // namespace

llvm::Expected<RuntimeValue> bindQuantizedLayerNorm(BindContext &context) {
  llvm::Expected<llvm::SmallVector<int64_t, 4>> shape = context.attrs().getInts("normalized_shape");
  if (!shape)
    return shape.takeError();
  int64_t width = 1;
  for (int64_t size : *shape)
    width *= size;
  llvm::Expected<NormCall> call = readNorm(context, [&](const View &) { return width; });
  if (!call)
    return call.takeError();
  return RuntimeValue(call->input.isSigned() ? emitLayerNorm<int8_t>(context, *call, width)
                                             : emitLayerNorm<uint8_t>(context, *call, width));
}

llvm::Expected<RuntimeValue> bindQuantizedGroupNorm(BindContext &context) {
  llvm::Expected<int64_t> groups = context.attrs().getInt("num_groups");
  if (!groups)
    return groups.takeError();
  return bindGroups(context, *groups);
}

llvm::Expected<RuntimeValue> bindQuantizedInstanceNorm(BindContext &context) {
  return bindGroups(context, std::nullopt);
}

} // namespace qfx::runtime
