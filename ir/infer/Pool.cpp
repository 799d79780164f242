// Rules of pooling, resizing and padding.  All keep a quantized input's parameters and the input's memory format.
#include "ir/infer/ConvolutionDetail.h"

#include <cmath>

namespace qfx {

namespace {
/// One window per spatial axis.
struct Window {
  llvm::SmallVector<int64_t, 4> kernel, stride, padding, dilation;
  bool isCeil = false;
};
} // namespace

/// Rule `<op>_rank`: spatial axes, channels, and perhaps a batch.
static llvm::Error checkSpatial(const InferContext &context, const TensorType &input, size_t spatial) {
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  if (input.getRank() == spatial + 1 || input.getRank() == spatial + 2)
    return llvm::Error::success();
  return context.fail("rank", "wants an input of rank {0} or {1}, got {2}", spatial + 1, spatial + 2, toString(input));
}

/// Rule `<op>_geometry`: kernel, stride, dilation >= 1, 0 <= padding <= kernel / 2 (integer division).
static llvm::Expected<Window> readWindow(const InferContext &context, size_t spatial) {
  Window window;
  QFX_TRY(kernel, context.getInts("kernel_size", spatial));
  QFX_TRY(padding, context.getInts("padding", spatial));
  window.kernel = kernel;
  window.stride = kernel;
  window.padding = padding;
  window.dilation.assign(spatial, 1);
  if (context.hasValue("stride")) {
    QFX_TRY(given, context.getInts("stride"));
    if (!given.empty()) { // an empty list stands for the kernel
      QFX_TRY(stride, context.getInts("stride", spatial));
      window.stride = stride;
    }
  }
  if (context.getCall().find("dilation")) {
    QFX_TRY(dilation, context.getInts("dilation", spatial));
    window.dilation = dilation;
  }
  QFX_TRY(isCeil, context.getBool("ceil_mode"));
  window.isCeil = isCeil;
  constexpr int64_t kMax = int64_t(1) << 30;
  for (size_t i = 0; i < spatial; ++i) {
    auto inRange = [](int64_t value) { return value >= 1 && value <= kMax; };
    if (!inRange(window.kernel[i]) || !inRange(window.stride[i]) || !inRange(window.dilation[i]))
      return context.fail("geometry", "wants kernel, stride and dilation in 1..2^30, got {0}, {1} and {2}", window.kernel[i],
                          window.stride[i], window.dilation[i]);
    if (window.padding[i] < 0 || window.padding[i] > window.kernel[i] / 2)
      return context.fail("geometry", "wants padding from 0 to half of the kernel, {0}, got {1}", window.kernel[i] / 2,
                          window.padding[i]);
  }
  return window;
}

/// floor|ceil((L + 2p - d(k-1) - 1) / s) + 1; with ceil the last window must start inside L + p (operators 8.1).
static Dim getPooledSize(const Window &window, size_t axis, const Dim &size) {
  int64_t reach = window.dilation[axis] * (window.kernel[axis] - 1);
  int64_t stride = window.stride[axis], padding = window.padding[axis];
  if (stride == 1 && 2 * padding == reach)
    return size;
  if (!size.isStatic())
    return Dim::unknown();
  int64_t span = size.getValue() + 2 * padding - reach - 1;
  if (span < 0)
    return Dim(0);
  int64_t count = (span + (window.isCeil ? stride - 1 : 0)) / stride + 1;
  if (window.isCeil && (count - 1) * stride >= size.getValue() + padding)
    --count;
  return Dim(count);
}

/// Rule `<op>_size`: at least one output along each axis.
static llvm::Expected<TensorType> pool(const InferContext &context, TensorType input, const Window &window, size_t spatial) {
  Shape before = input.shape;
  for (size_t i = 0; i < spatial; ++i) {
    Dim &size = input.shape[input.getRank() - spatial + i];
    size = getPooledSize(window, i, size);
    if (size.isStatic() && size.getValue() < 1)
      return context.fail("size", "has no output along axis {0} for input {1} and kernel {2}", i,
                          toString(llvm::ArrayRef<Dim>(before)), window.kernel[i]);
  }
  return input;
}

/// With return_indices: (values, int64 indices).
static llvm::Expected<ValueType> withIndices(const InferContext &context, const TensorType &values) {
  QFX_TRY(wanted, context.getBool("return_indices"));
  if (!wanted)
    return ValueType(values);
  if (isQuantized(values.dtype))
    return context.fail("indices", "returns no indices for a quantized input");
  TensorType indices = values;
  indices.dtype = DType::Int64;
  return ValueType::sequence(Argument::Kind::Tuple, {values, indices});
}

llvm::Expected<ValueType> inferMaxPool(const InferContext &context) {
  size_t spatial = getSpatialRank(context);
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkSpatial(context, input, spatial))
    return err;
  QFX_TRY(window, readWindow(context, spatial));
  QFX_TRY(result, pool(context, input, window, spatial));
  return withIndices(context, result);
}

/// Rule `<op>_divisor`: divisor_override is not 0.
llvm::Expected<ValueType> inferAvgPool(const InferContext &context) {
  size_t spatial = getSpatialRank(context);
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkSpatial(context, input, spatial))
    return err;
  if (!isQuantized(input.dtype) && !isFloat(input.dtype) && input.dtype != DType::Int64)
    return context.fail("dtype", "wants a floating-point, int64 or quantized tensor, got {0}", toString(input));
  QFX_TRY(window, readWindow(context, spatial));
  if (context.hasValue("divisor_override")) {
    QFX_TRY(divisor, context.getInt("divisor_override"));
    if (divisor == 0)
      return context.fail("divisor", "wants a divisor_override other than 0");
  }
  QFX_TRY(result, pool(context, input, window, spatial));
  return ValueType(result);
}

/// output_size: one or one per axis; None keeps the input's size there.
llvm::Expected<ValueType> inferAdaptivePool(const InferContext &context) {
  size_t spatial = getSpatialRank(context);
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkSpatial(context, input, spatial))
    return err;
  // Quantized kernels refuse empty channels, too.
  for (size_t i = isQuantized(input.dtype) ? 1 : input.getRank() - spatial; i < input.getRank(); ++i)
    if (input.shape[i] == Dim(0))
      return context.fail("size", "wants sizes >= 1 along the pooled axes, got {0}", toString(input));
  ValueType given = context.getValue("output_size");
  llvm::SmallVector<ValueType, 3> sizes;
  if (const auto *sequence = given.getSequence())
    sizes.append(sequence->elements.begin(), sequence->elements.end());
  else
    sizes.push_back(given);
  if (sizes.size() == 1)
    sizes.assign(spatial, ValueType(sizes[0]));
  if (sizes.size() != spatial)
    return context.fail("size", "wants one or {0} output sizes, got {1}", spatial, sizes.size());
  for (size_t i = 0; i < spatial; ++i) {
    if (const Argument *none = sizes[i].getHost(); none && none->isNone())
      continue;
    const Dim *dim = sizes[i].getDim();
    if (!dim || (dim->isStatic() && dim->getValue() < 0))
      return context.fail("size", "wants output sizes >= 0 or None");
    input.shape[input.getRank() - spatial + i] = *dim;
  }
  if (context.getCall().find("return_indices")) {
    if (llvm::Error err = checkNotQuantized(context, input, "input"))
      return err;
    return withIndices(context, input);
  }
  return ValueType(input);
}

//===----------------------------------------------------------------------===//
// Resizing
//===----------------------------------------------------------------------===//

/// The ranks a mode takes: nearest and area 3 to 5, linear 3, bilinear and bicubic 4, trilinear 5.
static bool takesRank(llvm::StringRef mode, size_t rank) {
  if (mode == "nearest" || mode == "nearest-exact" || mode == "area")
    return rank >= 3 && rank <= 5;
  return (mode == "linear" && rank == 3) || ((mode == "bilinear" || mode == "bicubic") && rank == 4) ||
         (mode == "trilinear" && rank == 5);
}

static Dim scaleDim(const Dim &size, double scale) {
  if (size.isStatic())
    return Dim(static_cast<int64_t>(std::floor(static_cast<double>(size.getValue()) * scale)));
  return std::floor(scale) == scale ? multiplyDims(size, Dim(static_cast<int64_t>(scale))) : Dim::unknown();
}

/// Rules `interpolate_mode` (known, fits the rank, align_corners only where it means something), `interpolate_size` (exactly one of size
/// and scale_factor, one number or one per axis), `interpolate_quantized` (nearest in 2-D and 3-D, bilinear; operators 8.4).
llvm::Expected<ValueType> inferInterpolate(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  const std::string &mode = context.getCall().get("mode").arg.getString();
  size_t rank = input.getRank();
  if (!takesRank(mode, rank))
    return context.fail("mode", "cannot resize with mode '{0}' an input of rank {1}", mode, rank);
  bool isNearest = mode == "nearest" || mode == "nearest-exact";
  if ((isNearest || mode == "area") && context.hasValue("align_corners"))
    return context.fail("mode", "takes no align_corners with mode '{0}'", mode);
  if (isQuantized(input.dtype) && !(isNearest && rank > 3) && mode != "bilinear")
    return context.fail("quantized", "has no quantized kernel for mode '{0}' and rank {1}", mode, rank);
  bool hasSize = context.hasValue("size"), hasScale = context.hasValue("scale_factor");
  if (hasSize == hasScale)
    return context.fail("size", "wants exactly one of 'size' and 'scale_factor'");
  size_t spatial = rank - 2;
  if (hasSize) {
    auto sizes = context.getDims("size");
    if (!sizes)
      return sizes.takeError();
    if (sizes->size() != 1 && sizes->size() != spatial)
      return context.fail("size", "wants one size or {0}, got {1}", spatial, sizes->size());
    for (size_t i = 0; i < spatial; ++i)
      input.shape[i + 2] = (*sizes)[sizes->size() == 1 ? 0 : i];
  } else {
    std::optional<Argument> given = context.getValue("scale_factor").getConstant();
    if (!given)
      return context.fail("size", "wants a known scale_factor");
    Argument::Elements scales(spatial, *given);
    if (given->isSequence())
      scales.assign(given->getElements().begin(), given->getElements().end());
    if (scales.size() == 1)
      scales.assign(spatial, Argument(scales[0]));
    for (const Argument &scale : scales)
      if (scales.size() != spatial || !scale.isNumber() || !(scale.getNumber() > 0 && scale.getNumber() < 1e9))
        return context.fail("size", "wants one positive scale_factor or {0}, got {1}", spatial,
                            toString(*given, ArgumentStyle::Qfx));
    for (size_t i = 0; i < spatial; ++i)
      input.shape[i + 2] = scaleDim(input.shape[i + 2], scales[i].getNumber());
  }
  for (size_t i = 1; i < rank; ++i)
    if (input.shape[i].isStatic() && input.shape[i].getValue() < 1)
      return context.fail("size", "wants sizes >= 1, the result would be {0}", toString(input));
  return ValueType(input);
}

/// Rules `pixel_shuffle_factor` (>= 1) and `pixel_shuffle_size` (channels divisible by its square).
llvm::Expected<ValueType> inferPixelShuffle(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  QFX_TRY(factor, context.getInt("upscale_factor"));
  size_t rank = input.getRank();
  if (rank < 3)
    return context.fail("rank", "wants an input of rank >= 3, got {0}", toString(input));
  if (factor < 1 || factor > (1 << 15))
    return context.fail("factor", "wants a factor in 1..2^15, got {0}", factor);
  Dim &channels = input.shape[rank - 3];
  if (channels.isStatic() && channels.getValue() % (factor * factor))
    return context.fail("size", "needs channels divisible by {0}, got {1}", factor * factor, channels);
  channels = channels.dividedBy(Dim(factor * factor));
  for (size_t i = rank - 2; i < rank; ++i)
    input.shape[i] = multiplyDims(input.shape[i], Dim(factor));
  return ValueType(input);
}

/// Rules `pixel_unshuffle_factor` and `pixel_unshuffle_size` (height and width divisible by the factor).
llvm::Expected<ValueType> inferPixelUnshuffle(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  QFX_TRY(factor, context.getInt("downscale_factor"));
  size_t rank = input.getRank();
  if (rank < 3)
    return context.fail("rank", "wants an input of rank >= 3, got {0}", toString(input));
  if (factor < 1 || factor > (1 << 15))
    return context.fail("factor", "wants a factor in 1..2^15, got {0}", factor);
  for (size_t i = rank - 2; i < rank; ++i) {
    Dim &size = input.shape[i];
    if (size.isStatic() && size.getValue() % factor)
      return context.fail("size", "needs height and width divisible by {0}, got {1}", factor, size);
    size = size.dividedBy(Dim(factor));
  }
  input.shape[rank - 3] = multiplyDims(input.shape[rank - 3], Dim(factor * factor));
  return ValueType(input);
}

/// Rule `channel_shuffle_groups`: channels divisible by groups.
llvm::Expected<ValueType> inferChannelShuffle(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  QFX_TRY(groups, context.getInt("groups"));
  if (input.getRank() < 3)
    return context.fail("rank", "wants an input of rank >= 3, got {0}", toString(input));
  const Dim &channels = input.shape[1];
  if (groups < 1 || (channels.isStatic() && channels.getValue() % groups))
    return context.fail("groups", "needs channels divisible by groups, got {0} and {1}", channels, groups);
  return ValueType(input);
}

/// The numbers of a pad call, last dimension first; a single one in a Pad module counts for every side of its axes.
static llvm::Expected<llvm::SmallVector<int64_t, 4>> readPads(const InferContext &context) {
  llvm::StringRef text = context.getCall().target->text;
  bool isModule = context.getCall().module;
  size_t sides = isModule ? 2 * static_cast<size_t>(text[text.size() - 2] - '0') : 0;
  return context.getInts("pad", sides);
}

/// Rules `pad_pads` (an even count, at most two per dimension), `pad_mode` (known; reflect, replicate and circular pad the last 1, 2 or 3
/// of 2 to 5 dimensions; reflect pads less than the size, circular at most it), `pad_size` (no negative size), `pad_quantized`
/// (constant and reflect only; operators 8.6).
llvm::Expected<ValueType> inferPad(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  QFX_TRY(pads, readPads(context));
  const std::string &mode = context.getCall().get("mode").arg.getString();
  size_t rank = input.getRank(), axes = pads.size() / 2;
  if (pads.size() % 2 || axes > rank)
    return context.fail("pads", "wants an even count of at most {0} pads, got {1}", 2 * rank, pads.size());
  bool isReflect = mode == "reflect", isCircular = mode == "circular";
  if (mode != "constant" && !isReflect && !isCircular && mode != "replicate")
    return context.fail("mode", "wants mode 'constant', 'reflect', 'replicate' or 'circular', got '{0}'", mode);
  if (mode != "constant" && (axes < 1 || axes > 3 || (rank != axes + 1 && rank != axes + 2)))
    return context.fail("mode", "cannot pad {0} axes of an input of rank {1} with mode '{2}'", axes, rank, mode);
  if (isQuantized(input.dtype) && mode != "constant" && !isReflect)
    return context.fail("quantized", "has no quantized kernel for mode '{0}'", mode);
  for (size_t i = 0; i < axes; ++i) {
    Dim &size = input.shape[rank - 1 - i];
    int64_t before = pads[2 * i], after = pads[2 * i + 1], limit = int64_t(1) << 40;
    if (std::min(before, after) < -limit || std::max(before, after) > limit)
      return context.fail("pads", "wants pads within +-2^40, got {0} and {1}", before, after);
    if (size.isStatic() && ((isReflect && std::max(before, after) >= size.getValue()) ||
                            (isCircular && std::max(before, after) > size.getValue())))
      return context.fail("mode", "wants pads smaller than the size {0} with mode '{1}', got {2} and {3}", size, mode,
                          before, after);
    size = addDims(size, Dim(before + after));
    if (size.isStatic() && size.getValue() < 0)
      return context.fail("size", "crops more than there is along dimension {0}", rank - 1 - i);
  }
  return ValueType(input);
}

} // namespace qfx
