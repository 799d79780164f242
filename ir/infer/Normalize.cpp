// Rules of normalization layers, float and quantized.
#include "ir/InferDetail.h"

#include "ir/Text.h"

namespace qfx {

/// Rule `<op>_size`: each given per-channel tensor has as many elements as there are channels.
static llvm::Error checkPerChannelTensors(const InferContext &context, const Dim &channels,
                                          llvm::ArrayRef<llvm::StringLiteral> slots) {
  for (llvm::StringRef slot : slots) {
    if (!context.getCall().find(slot))
      continue;
    std::optional<TensorType> tensor = context.getOptionalTensor(slot);
    if (tensor && !multiplyAll(tensor->shape).mayEqual(channels))
      return context.fail("size", "wants {0} elements in '{1}', one per channel, got {2}", channels, slot,
                          toString(*tensor));
  }
  return llvm::Error::success();
}

static constexpr llvm::StringLiteral kBatchNormTensors[] = {"weight", "bias", "running_mean", "running_var"};
static constexpr llvm::StringLiteral kAffineTensors[] = {"weight", "bias"};

/// The ranks a spelling takes: ...1d: 2 or 3 (a float InstanceNorm also without batch), ...2d: 4, ...3d: 5, without a number: 2 to 5.
static llvm::Error checkRankOfSpelling(const InferContext &context, const TensorType &input, bool allowsUnbatched) {
  llvm::StringRef text = context.getCall().target->text;
  if (endsWith(text, "_relu"))
    text = text.drop_back(5);
  if (endsWith(text, ".default"))
    text = text.drop_back(8);
  size_t rank = input.getRank(), least = 2, most = 5;
  for (auto [suffix, low, high] : {std::tuple("1d", 2, 3), std::tuple("2d", 4, 4), std::tuple("3d", 5, 5)})
    if (endsWith(text, suffix)) {
      least = static_cast<size_t>(low) - (allowsUnbatched && high > 3 ? 1 : 0);
      most = static_cast<size_t>(high);
    }
  if (rank >= least && rank <= most)
    return llvm::Error::success();
  return context.fail("rank", "wants an input of rank {0}{1}, got {2}", least,
                      least == most ? std::string() : " to " + std::to_string(most), toString(input));
}

/// Rules `batch_norm_rank`, `batch_norm_size`, `batch_norm_statistics` (inference needs running statistics).
llvm::Expected<ValueType> inferBatchNorm(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  bool isModule = context.getCall().module;
  if (isModule) {
    if (llvm::Error err = checkRankOfSpelling(context, input, /*allowsUnbatched=*/false))
      return err;
  } else if (input.getRank() < 2) {
    return context.fail("rank", "wants an input of rank >= 2, got {0}", toString(input));
  }
  if (llvm::Error err = checkPerChannelTensors(context, input.shape[1], kBatchNormTensors))
    return err;
  QFX_TRY(training, context.getBool("training"));
  if (!training && (!context.hasValue("running_mean") || !context.hasValue("running_var")))
    return context.fail("statistics", "wants running_mean and running_var unless training");
  return ValueType(input);
}

/// Rule `<op>_shape`: normalized_shape equals the input's last sizes, weight and bias have that shape.
static llvm::Error checkLayerNorm(const InferContext &context, const TensorType &input) {
  auto given = context.getDims("normalized_shape");
  if (!given)
    return given.takeError();
  llvm::ArrayRef<Dim> normalized = *given, tail = input.shape;
  bool fits = !normalized.empty() && normalized.size() <= tail.size();
  if (fits)
    tail = tail.take_back(normalized.size());
  auto agrees = [](llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b) {
    if (a.size() != b.size())
      return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!a[i].mayEqual(b[i]))
        return false;
    return true;
  };
  if (!fits || !agrees(normalized, tail))
    return context.fail("shape", "wants normalized_shape to be the input's last sizes, got {0} for {1}",
                        toString(normalized), toString(input));
  for (llvm::StringRef slot : kAffineTensors) {
    if (!context.getCall().find(slot))
      continue;
    std::optional<TensorType> tensor = context.getOptionalTensor(slot);
    if (tensor && !agrees(tensor->shape, normalized))
      return context.fail("shape", "wants '{0}' of shape {1}, got {2}", slot, toString(normalized), toString(*tensor));
  }
  return llvm::Error::success();
}

llvm::Expected<ValueType> inferLayerNorm(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  if (llvm::Error err = checkLayerNorm(context, input))
    return err;
  return ValueType(input);
}

/// Rule `rms_norm_dtype`: floats.
llvm::Expected<ValueType> inferRmsNorm(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  if (!isFloat(input.dtype))
    return context.fail("dtype", "wants a floating-point tensor, got {0}", toString(input));
  if (llvm::Error err = checkLayerNorm(context, input))
    return err;
  return ValueType(input);
}

/// Rules `<op>_rank` (least rank) and `<op>_groups` (channels divisible by num_groups), `<op>_size`.
static llvm::Error checkGroupNorm(const InferContext &context, const TensorType &input, size_t leastRank) {
  if (input.getRank() < leastRank)
    return context.fail("rank", "wants an input of rank >= {0}, got {1}", leastRank, toString(input));
  auto groups = context.getInt("num_groups");
  if (!groups)
    return groups.takeError();
  const Dim &channels = input.shape[1];
  if (*groups < 1 || (channels.isStatic() && channels.getValue() % *groups))
    return context.fail("groups", "needs channels divisible by num_groups, got {0} and {1}", channels, *groups);
  return checkPerChannelTensors(context, channels, kAffineTensors);
}

llvm::Expected<ValueType> inferGroupNorm(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  if (llvm::Error err = checkGroupNorm(context, input, 2))
    return err;
  return ValueType(input);
}

llvm::Expected<ValueType> inferInstanceNorm(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  if (context.getCall().module) {
    if (llvm::Error err = checkRankOfSpelling(context, input, /*allowsUnbatched=*/true))
      return err;
  } else if (input.getRank() < 2) {
    return context.fail("rank", "wants an input of rank >= 2, got {0}", toString(input));
  }
  // The module without batch dimension has its channels first.
  llvm::StringRef text = context.getCall().target->text;
  size_t batched = endsWith(text, "1d") ? 3 : endsWith(text, "2d") ? 4 : endsWith(text, "3d") ? 5 : input.getRank();
  const Dim &channels = input.shape[input.getRank() < batched ? 0 : 1];
  if (llvm::Error err = checkPerChannelTensors(context, channels, kBatchNormTensors))
    return err;
  return ValueType(input);
}

//===----------------------------------------------------------------------===//
// Quantized forms: operators 9
//===----------------------------------------------------------------------===//

/// Per-tensor input; the output's parameters from the slots output_scale and output_zero_point.
static llvm::Expected<TensorType> startQuantized(const InferContext &context, MemoryFormat (*getFormat)(size_t)) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkPerTensor(context, input, "input"))
    return err;
  QFX_TRY(quantizer, getQuantizer(context, input.dtype, "output_scale", "output_zero_point"));
  input.quantizer = quantizer;
  if (getFormat)
    input.format = getFormat(input.getRank());
  return input;
}

static MemoryFormat getContiguous(size_t) { return MemoryFormat::Contiguous; }

/// The result is channels-last for ranks 4 and 5.
llvm::Expected<ValueType> inferQuantizedBatchNorm(const InferContext &context) {
  QFX_TRY(result, startQuantized(context, getChannelsLast));
  if (llvm::Error err = checkRankOfSpelling(context, result, /*allowsUnbatched=*/false))
    return err;
  if (llvm::Error err = checkPerChannelTensors(context, result.shape[1], kBatchNormTensors))
    return err;
  return ValueType(result);
}

llvm::Expected<ValueType> inferQuantizedLayerNorm(const InferContext &context) {
  QFX_TRY(result, startQuantized(context, getContiguous));
  if (llvm::Error err = checkLayerNorm(context, result))
    return err;
  return ValueType(result);
}

llvm::Expected<ValueType> inferQuantizedGroupNorm(const InferContext &context) {
  QFX_TRY(result, startQuantized(context, nullptr));
  if (llvm::Error err = checkGroupNorm(context, result, 3))
    return err;
  return ValueType(result);
}

llvm::Expected<ValueType> inferQuantizedInstanceNorm(const InferContext &context) {
  QFX_TRY(result, startQuantized(context, nullptr));
  if (result.getRank() < 3)
    return context.fail("rank", "wants an input of rank >= 3, got {0}", toString(result));
  if (llvm::Error err = checkPerChannelTensors(context, result.shape[1], kAffineTensors))
    return err;
  return ValueType(result);
}

} // namespace qfx
