// Rules of convolutions and transposed convolutions.
#include "ir/infer/ConvolutionDetail.h"

#include "ir/Module.h"
#include "ir/OpKind.h"

namespace qfx {

/// Larger kernels, strides, paddings and dilations are refused, so that sizes cannot overflow.
static constexpr int64_t kMaxGeometry = int64_t(1) << 30;

size_t getSpatialRank(const InferContext &context) {
  llvm::StringRef name = context.getCall().op->name;
  char digit = name[name.size() - 2];
  assert(digit >= '1' && digit <= '3' && "operator's name does not end in 1d, 2d or 3d");
  return static_cast<size_t>(digit - '0');
}

static llvm::Expected<llvm::SmallVector<int64_t, 3>> readAxes(const InferContext &context, llvm::StringRef slot,
                                                              size_t count, int64_t least) {
  const OpKind op = context.getCall().op->kind;
  const bool mayBeTwo = op == OpKind::ConvPrepack1d || op == OpKind::ConvTransposePrepack1d; // then the second counts (operators 5.2)
  auto given = context.getInts(slot, mayBeTwo ? 0 : count);
  if (!given)
    return given.takeError();
  if (mayBeTwo && (given->empty() || given->size() > 2))
    return context.fail("geometry", "wants one or two numbers for {0}, got {1}", slot, given->size());
  if (mayBeTwo)
    given->erase(given->begin(), given->end() - 1);
  for (int64_t value : *given)
    if (value < least || value > kMaxGeometry)
      return context.fail("geometry", "wants {0} in {1}..2^30, got {2}", slot, least, value);
  return llvm::SmallVector<int64_t, 3>(given->begin(), given->end());
}

llvm::Expected<ConvGeometry> readConvGeometry(const InferContext &context, bool isTransposed) {
  ConvGeometry geometry;
  geometry.spatial = getSpatialRank(context);
  geometry.isTransposed = isTransposed;
  QFX_TRY(stride, readAxes(context, "stride", geometry.spatial, 1));
  QFX_TRY(dilation, readAxes(context, "dilation", geometry.spatial, 1));
  QFX_TRY(groups, context.getInt("groups"));
  if (groups < 1)
    return context.fail("geometry", "wants groups >= 1, got {0}", groups);
  geometry.stride = stride;
  geometry.dilation = dilation;
  geometry.groups = groups;
  geometry.outputPadding.assign(geometry.spatial, 0);
  geometry.padding.assign(geometry.spatial, 0);
  ValueType padding = context.getValue("padding");
  if (const Argument *name = padding.getHost(); name && name->isString()) {
    geometry.isSame = name->getString() == "same";
    if (!geometry.isSame && name->getString() != "valid")
      return context.fail("padding", "wants padding 'same', 'valid' or ints, got '{0}'", name->getString());
    for (int64_t step : stride)
      if (geometry.isSame && step != 1)
        return context.fail("padding", "wants stride 1 with padding 'same', got {0}", step);
  } else {
    QFX_TRY(numbers, readAxes(context, "padding", geometry.spatial, 0));
    geometry.padding = numbers;
  }
  if (isTransposed) {
    QFX_TRY(extra, readAxes(context, "output_padding", geometry.spatial, 0));
    geometry.outputPadding = extra;
  }
  return geometry;
}

/// floor((L + 2p - d(k-1) - 1) / s) + 1; a symbolic L survives where nothing changes.
static Dim getConvSize(const ConvGeometry &geometry, size_t axis, const Dim &size, int64_t kernel) {
  int64_t reach = geometry.dilation[axis] * (kernel - 1), padding = geometry.padding[axis];
  if (geometry.isSame || (geometry.stride[axis] == 1 && 2 * padding == reach))
    return size;
  if (!size.isStatic())
    return Dim::unknown();
  int64_t span = size.getValue() + 2 * padding - reach - 1;
  return Dim(span < 0 ? 0 : span / geometry.stride[axis] + 1);
}

/// (L - 1)s - 2p + d(k-1) + output_padding + 1.
static Dim getTransposedSize(const ConvGeometry &geometry, size_t axis, const Dim &size, int64_t kernel) {
  if (!size.isStatic())
    return Dim::unknown();
  Dim grown = multiplyDims(Dim(size.getValue() - 1), Dim(geometry.stride[axis]));
  int64_t fixed = geometry.dilation[axis] * (kernel - 1) - 2 * geometry.padding[axis] + geometry.outputPadding[axis] + 1;
  return addDims(grown, Dim(fixed));
}

/// Rules `<op>_channels` and `<op>_bias`; yields the output channels.
static llvm::Expected<Dim> checkChannels(const InferContext &context, const Dim &channels, const TensorType &weight,
                                         const std::optional<TensorType> &bias, const ConvGeometry &geometry) {
  Dim groups(geometry.groups);
  const Dim &rows = weight.shape[0], &columns = weight.shape[1];
  if (rows.isStatic() && rows.getValue() % geometry.groups)
    return context.fail("channels", "needs a weight whose first size is divisible by groups, got {0} and {1}", rows,
                        geometry.groups);
  Dim wanted = geometry.isTransposed ? rows : multiplyDims(columns, groups);
  if (!channels.mayEqual(wanted))
    return context.fail("channels", "wants {0} input channels for weight {1} and groups {2}, got {3}", wanted,
                        toString(weight.shape), geometry.groups, channels);
  Dim outputs = geometry.isTransposed ? multiplyDims(columns, groups) : rows;
  if (bias && (bias->getRank() != 1 || !bias->shape[0].mayEqual(outputs)))
    return context.fail("bias", "wants a bias of {0} elements, got {1}", outputs, toString(*bias));
  return outputs;
}

/// Rule `<op>_size` for the sizes that `output_size` asks for: minimal size <= asked < minimal size + stride.
static llvm::Error applyOutputSize(const InferContext &context, llvm::ArrayRef<int64_t> outputSize,
                                   const ConvGeometry &geometry, llvm::MutableArrayRef<Dim> sizes) {
  if (outputSize.empty())
    return llvm::Error::success();
  if (outputSize.size() < geometry.spatial)
    return context.fail("size", "wants output_size for {0} axes, got {1}", geometry.spatial, outputSize.size());
  outputSize = outputSize.take_back(geometry.spatial);
  for (size_t i = 0; i < geometry.spatial; ++i) {
    if (!sizes[i].isStatic()) {
      sizes[i] = Dim(outputSize[i]);
      continue;
    }
    int64_t least = sizes[i].getValue() - geometry.outputPadding[i], most = least + geometry.stride[i] - 1;
    if (outputSize[i] < least || outputSize[i] > most)
      return context.fail("size", "allows output sizes {0}..{1} along axis {2}, got {3}", least, most, i, outputSize[i]);
    sizes[i] = Dim(outputSize[i]);
  }
  return llvm::Error::success();
}

llvm::Expected<TensorType> inferConvShape(const InferContext &context, const TensorType &input, const TensorType &weight,
                                          const std::optional<TensorType> &bias, const ConvGeometry &geometry,
                                          llvm::ArrayRef<int64_t> outputSize) {
  size_t rank = geometry.spatial + 2;
  if (weight.getRank() != rank)
    return context.fail("rank", "wants a weight of rank {0}, got {1}", rank, toString(weight.shape));
  bool isBatched = input.getRank() == rank;
  if (!isBatched && input.getRank() != rank - 1)
    return context.fail("rank", "wants an input of rank {0} or {1}, got {2}", rank - 1, rank, toString(input));
  size_t channelAxis = isBatched ? 1 : 0;
  QFX_TRY(outputs, checkChannels(context, input.shape[channelAxis], weight, bias, geometry));

  TensorType result;
  result.dtype = input.dtype;
  result.format = fitFormat(input.format, input.getRank());
  if (isBatched)
    result.shape.push_back(input.shape[0]);
  result.shape.push_back(outputs);
  for (size_t i = 0; i < geometry.spatial; ++i) {
    const Dim &kernel = weight.shape[i + 2], &size = input.shape[channelAxis + 1 + i];
    if (!kernel.isStatic()) {
      result.shape.push_back(Dim::unknown());
      continue;
    }
    if (kernel.getValue() < 1 || kernel.getValue() > kMaxGeometry)
      return context.fail("geometry", "wants a kernel in 1..2^30 along each axis, got {0}", toString(weight.shape));
    result.shape.push_back(geometry.isTransposed ? getTransposedSize(geometry, i, size, kernel.getValue())
                                                 : getConvSize(geometry, i, size, kernel.getValue()));
  }
  llvm::MutableArrayRef<Dim> sizes(result.shape.begin() + channelAxis + 1, geometry.spatial);
  if (llvm::Error err = applyOutputSize(context, outputSize, geometry, sizes))
    return err;
  for (const Dim &size : sizes)
    if (size.isStatic() && size.getValue() < 1)
      return context.fail("size", "has no output for input {0} and kernel {1}: sizes would be {2}", toString(input.shape),
                          toString(llvm::ArrayRef<Dim>(weight.shape).drop_front(2)), toString(sizes));
  return result;
}

/// Rule `<op>_dtype`: float input, weight and bias of one dtype.
static llvm::Error checkDTypes(const InferContext &context, const TensorType &input, const TensorType &weight, const std::optional<TensorType> &bias) {
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  if (llvm::Error err = checkNotQuantized(context, weight, "weight"))
    return err;
  if (input.dtype != weight.dtype)
    return context.fail("dtype", "wants input and weight of one dtype, got {0} and {1}", toString(input), toString(weight));
  if (bias && bias->dtype != input.dtype)
    return context.fail("dtype", "wants input and bias of one dtype, got {0} and {1}", toString(input), toString(*bias));
  return llvm::Error::success();
}

static llvm::Expected<ValueType> inferFloatConv(const InferContext &context, bool isTransposed,
                                                llvm::ArrayRef<int64_t> outputSize) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(weight, context.getTensor("weight"));
  std::optional<TensorType> bias = context.getOptionalTensor("bias");
  if (llvm::Error err = checkDTypes(context, input, weight, bias))
    return err;
  QFX_TRY(geometry, readConvGeometry(context, isTransposed));
  for (size_t i = 0; i < geometry.spatial; ++i) // quantized ones take any
    if (geometry.outputPadding[i] && geometry.outputPadding[i] >= std::max(geometry.stride[i], geometry.dilation[i]))
      return context.fail("geometry", "wants output_padding below stride or dilation, got {0} with {1} and {2}", geometry.outputPadding[i],
                          geometry.stride[i], geometry.dilation[i]);
  QFX_TRY(result, inferConvShape(context, input, weight, bias, geometry, outputSize));
  return ValueType(result);
}

llvm::Expected<ValueType> inferConv(const InferContext &context) { return inferFloatConv(context, false, {}); }

llvm::Expected<ValueType> inferConvTranspose(const InferContext &context) {
  llvm::SmallVector<int64_t, 4> outputSize;
  if (context.hasValue("output_size")) {
    QFX_TRY(given, context.getInts("output_size"));
    outputSize = given;
  }
  return inferFloatConv(context, true, outputSize);
}

/// child "0"(input) + other; a ReLU child changes no type.
llvm::Expected<ValueType> inferConvAdd(const InferContext &context) {
  const Module *module = context.getCall().module;
  ModuleRef conv = module ? module->findChild("0") : nullptr;
  if (!conv)
    return context.fail("children", "wants a child '0'");
  QFX_TRY(value, inferChild(context, *conv, context.getValue("input")));
  QFX_TRY(other, context.getTensor("other"));
  const TensorType *sum = value.getTensor();
  if (!sum)
    return value;
  TensorType result = *sum;
  QFX_TRY(shape, broadcastShapes(context, sum->shape, other.shape));
  result.shape = shape;
  return ValueType(result);
}

} // namespace qfx
