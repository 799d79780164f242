// lp_pool as an average of powers, max_unpool as a scatter into zeros, adaptive_max_pool3d as one over planes and one over depth.
#include "ir/compose/Composer.h"

namespace qfx {

/// The number of spatial axes in the operator's name (LpPool2d).
static size_t getSpatial(const Composer &composer) {
  llvm::StringRef name = composer.context.getCall().op->name;
  return static_cast<size_t>(name[name.size() - 2] - '0');
}

/// (sum over the window of x^p)^(1/p), negative sums as 0.  Source: torch/nn/functional.py, lp_pool2d.
llvm::Expected<Argument> composeLpPool(Composer &composer) {
  size_t spatial = getSpatial(composer);
  QFX_TRY(input, composer.input("input"));
  QFX_TRY(p, composer.context.getNumber("norm_type"));
  QFX_TRY(kernel, composer.context.getInts("kernel_size", spatial));
  QFX_TRY(ceil, composer.context.getBool("ceil_mode"));
  Kwargs window{{"ceil_mode", Argument(ceil)}};
  if (composer.context.hasValue("stride")) {
    QFX_TRY(stride, composer.context.getInts("stride", spatial));
    window.push_back({"stride", Argument::ints(stride)});
  }
  if (p == 0)
    return composer.context.fail("p", "wants a norm_type other than 0");
  int64_t count = 1;
  for (int64_t size : kernel)
    count *= size;
  Node *powers = composer.function("torch.pow", {input.node, p});
  Node *means = composer.function("torch.nn.functional.avg_pool" + std::to_string(spatial) + "d",
                                  {powers, Argument::ints(kernel)}, std::move(window));
  Node *sign = composer.function("torch.sign", {means});
  Node *size = composer.function("torch.relu", {composer.function("torch.abs", {means})});
  Node *sums = composer.function("torch.mul", {composer.function("torch.mul", {sign, size}), count});
  return Argument(composer.function("torch.pow", {sums, 1 / p}));
}

/// Each value at its flat spatial place of a tensor of zeros.  Rules `<op>_rank`, `<op>_shape` (values and indices alike), `<op>_size`
/// (output_size names the spatial sizes, or all).
llvm::Expected<Argument> composeMaxUnpool(Composer &composer) {
  const InferContext &context = composer.context;
  size_t spatial = getSpatial(composer);
  QFX_TRY(input, composer.input("input"));
  QFX_TRY(indices, composer.input("indices"));
  size_t rank = input.getRank();
  if (rank != spatial + 1 && rank != spatial + 2)
    return context.fail("rank", "wants an input of rank {0} or {1}, got {2}", spatial + 1, spatial + 2,
                        toString(input.type));
  bool fits = indices.getRank() == rank && indices.type.dtype == DType::Int64;
  for (size_t i = 0; fits && i < rank; ++i)
    fits = input.size(i).mayEqual(indices.size(i));
  if (!fits)
    return context.fail("shape", "wants int64 indices of the input's sizes, got {0} and {1}", toString(input.type),
                        toString(indices.type));
  QFX_TRY(kernel, context.getInts("kernel_size", spatial));
  llvm::SmallVector<int64_t, 4> stride = kernel;
  if (context.hasValue("stride")) {
    QFX_TRY(given, context.getInts("stride", spatial));
    stride = given;
  }
  QFX_TRY(padding, context.getInts("padding", spatial));
  llvm::SmallVector<int64_t, 4> wanted;
  if (context.hasValue("output_size")) {
    QFX_TRY(given, context.getInts("output_size"));
    if (given.size() != spatial && given.size() != rank)
      return context.fail("size", "wants {0} output sizes, got {1}", spatial, given.size());
    wanted.assign(given.end() - spatial, given.end());
  }
  constexpr int64_t kMostSize = int64_t(1) << 31, kMostPlaces = int64_t(1) << 62;
  Argument::Elements flat, sizes;
  int64_t places = 1;
  for (size_t i = 0; i < rank; ++i) {
    if (i < rank - spatial) {
      flat.push_back(composer.sizeOf(input, i));
      sizes.push_back(flat.back());
      continue;
    }
    if (!input.size(i).isStatic())
      return Argument();
    size_t axis = i - (rank - spatial);
    for (int64_t given : {stride[axis], padding[axis], kernel[axis]})
      if (given < -kMostSize || given > kMostSize)
        return context.fail("size", "wants kernel sizes, strides and paddings within +-2^31, got {0}", given);
    if (input.size(i).getValue() > kMostSize)
      return context.fail("size", "wants at most 2^31 elements along axis {0}, got {1}", axis, input.size(i));
    int64_t size = (input.size(i).getValue() - 1) * stride[axis] - 2 * padding[axis] + kernel[axis];
    if (!wanted.empty()) {
      if (wanted[axis] <= size - stride[axis] || wanted[axis] >= size + stride[axis])
        return context.fail("size", "wants an output size between {0} and {1} along axis {2}, got {3}",
                            size - stride[axis], size + stride[axis], axis, wanted[axis]);
      size = wanted[axis];
    }
    if (size < 1)
      return context.fail("size", "has no output along axis {0}", axis);
    if (size > kMostPlaces / places)
      return context.fail("size", "has more than 2^62 places");
    places *= size;
    sizes.push_back(size);
  }
  Argument::Elements zeroSizes = flat;
  zeroSizes.push_back(places);
  flat.push_back(int64_t(-1));
  Node *zeros = composer.method("new_zeros", {input.node, Argument::list(std::move(zeroSizes))});
  Node *at = composer.reshape(indices.node, flat), *values = composer.reshape(input.node, flat);
  Node *filled = composer.function("torch.scatter", {zeros, int64_t(-1), at, values});
  return Argument(composer.reshape(filled, std::move(sizes)));
}

/// The largest of each plane, then of the planes: ties and NaN go as in one scan over depth, height and width.  Rules `<op>_rank`,
/// `<op>_size` (one size, or three of which some may be None).
llvm::Expected<Argument> composeAdaptiveMaxPool3d(Composer &composer) {
  const InferContext &context = composer.context;
  QFX_TRY(input, composer.input("input"));
  size_t rank = input.getRank();
  if (rank != 4 && rank != 5)
    return context.fail("rank", "wants an input of rank 4 or 5, got {0}", toString(input.type));
  for (size_t i = rank - 4; i < rank; ++i)
    if (!input.size(i).isStatic())
      return Argument();
  int64_t channels = input.size(rank - 4).getValue(), planes = input.size(rank - 3).getValue();
  int64_t height = input.size(rank - 2).getValue(), width = input.size(rank - 1).getValue();
  int64_t sizes[3] = {planes, height, width};
  ValueType given = context.getValue("output_size");
  const auto *list = given.getSequence();
  if (list && list->elements.size() != 3)
    return context.fail("size", "wants one output size or three, got {0}", list->elements.size());
  for (size_t i = 0; i < 3; ++i) {
    std::optional<Argument> one = list ? list->elements[i].getConstant() : given.getConstant();
    if (!one || !one->isInt())
      continue;
    sizes[i] = one->getInt();
    if (sizes[i] < 0 || sizes[i] > (int64_t(1) << 30))
      return context.fail("size", "wants output sizes in 0..2^30, got {0}", sizes[i]);
  }
  QFX_TRY(returnsIndices, context.getBool("return_indices"));
  const int64_t area = sizes[1] * sizes[2];
  auto pool = [&](const char *text, Node *x, Argument size) {
    return composer.function(text, {x, std::move(size), true});
  };
  // [N, C * D, H, W] -> [N, C * D, oH, oW] -> [N, C * oH * oW, D] -> [.., oD] -> [N, C, oD, oH, oW]
  auto byDepth = [&](Node *x) {
    Node *flat = composer.reshape(x, {int64_t(-1), channels, planes, area});
    return composer.reshape(composer.function("torch.transpose", {flat, int64_t(2), int64_t(3)}),
                            {int64_t(-1), channels * area, planes});
  };
  auto back = [&](Node *x) {
    Node *flat = composer.reshape(x, {int64_t(-1), channels, area, sizes[0]});
    Argument::Elements shape{channels, sizes[0], sizes[1], sizes[2]};
    if (rank == 5)
      shape.insert(shape.begin(), Argument(int64_t(-1)));
    return composer.reshape(composer.function("torch.transpose", {flat, int64_t(2), int64_t(3)}), std::move(shape));
  };
  Node *flat = composer.reshape(input.node, {int64_t(-1), channels * planes, height, width});
  Node *inPlanes = pool("torch.nn.functional.adaptive_max_pool2d", flat, Argument::ints({sizes[1], sizes[2]}));
  Node *overDepth = pool("torch.nn.functional.adaptive_max_pool1d", byDepth(composer.item(inPlanes, 0)), sizes[0]);
  Node *values = back(composer.item(overDepth, 0));
  if (!returnsIndices)
    return Argument(values);
  Node *plane = composer.item(overDepth, 1);
  Node *place = composer.function("torch.gather", {byDepth(composer.item(inPlanes, 1)), int64_t(2), plane});
  Node *index = composer.function("torch.add", {composer.function("torch.mul", {plane, height * width}), place});
  return Argument::tuple({values, back(index)});
}

} // namespace qfx
