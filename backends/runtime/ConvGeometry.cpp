// Reading a convolution's attributes and preparing its input.
#include "backends/runtime/ConvGeometry.h"

#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/PadStep.h"

#include "ir/Module.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx::runtime {

bool ConvGeometry::padsFirst() const {
  for (int axis = 0; axis < 3; ++axis)
    if (before[axis] || after[axis])
      return true;
  return false;
}

llvm::Expected<ConvArguments> readConvArguments(const InferContext &attrs) {
  ConvArguments arguments;
  llvm::Expected<int64_t> groups = attrs.getInt("groups");
  if (!groups)
    return groups.takeError();
  llvm::Expected<llvm::SmallVector<int64_t, 4>> stride = attrs.getInts("stride");
  if (!stride)
    return stride.takeError();
  llvm::Expected<llvm::SmallVector<int64_t, 4>> dilation = attrs.getInts("dilation");
  if (!dilation)
    return dilation.takeError();
  const BoundSlot &padding = attrs.getCall().get("padding");
  if (padding.arg.isString()) {
    arguments.padding = padding.arg;
  } else {
    llvm::Expected<llvm::SmallVector<int64_t, 4>> amounts = attrs.getInts("padding");
    if (!amounts)
      return amounts.takeError();
    arguments.padding = Argument::ints(*amounts);
  }
  if (const BoundSlot *mode = attrs.getCall().find("padding_mode"))
    if (mode->arg.isString())
      arguments.paddingMode = mode->arg.getString();
  arguments.groups = *groups;
  arguments.stride = *stride;
  arguments.dilation = *dilation;
  return arguments;
}

/// One int or a sequence of ints.
static llvm::SmallVector<int64_t, 4> toInts(const Argument &argument) {
  llvm::SmallVector<int64_t, 4> ints;
  if (argument.isInt())
    ints.push_back(argument.getInt());
  else if (argument.isSequence())
    for (const Argument &element : argument.getElements())
      ints.push_back(element.isInt() ? element.getInt() : 0);
  return ints;
}

ConvArguments readConvArguments(const Module &packed) {
  ConvArguments arguments;
  arguments.groups = packed.getAttribute("groups").getInt();
  arguments.stride = toInts(packed.getAttribute("stride"));
  arguments.dilation = toInts(packed.getAttribute("dilation"));
  arguments.padding = packed.getAttribute("padding");
  return arguments;
}

llvm::Expected<ConvGeometry> makeConvGeometry(BindContext &context, const ConvArguments &arguments,
                                              llvm::ArrayRef<int64_t> weightSizes, int64_t inChannels) {
  ConvGeometry geometry;
  if (weightSizes.size() < 3 || weightSizes.size() > 5)
    return context.fail("weight must have rank 3 to 5, got {0}", weightSizes.size());
  size_t spatial = geometry.spatial = weightSizes.size() - 2;
  int64_t groups = arguments.groups;
  kernels::ConvShape &shape = geometry.shape;
  shape.inChannels = inChannels;
  shape.outChannels = weightSizes[0];
  shape.groups = groups;
  if (groups <= 0 || inChannels % groups != 0 || shape.outChannels % groups != 0 ||
      weightSizes[1] != inChannels / groups)
    return context.fail("{0} input channels in {1} groups do not fit a weight of {2} x {3} channels", inChannels,
                        groups, weightSizes[0], weightSizes[1]);
  size_t first = 3 - spatial;
  // A list of two numbers may stand for one axis (operators 5.2): the last one counts.
  auto at = [&](const llvm::SmallVector<int64_t, 4> &list, size_t i) -> int64_t {
    if (list.empty())
      return -1;
    return list[list.size() >= spatial ? list.size() - spatial + i : list.size() - 1];
  };
  for (size_t i = 0; i < spatial; ++i) {
    shape.kernel[first + i] = weightSizes[2 + i];
    shape.stride[first + i] = at(arguments.stride, i);
    shape.dilation[first + i] = at(arguments.dilation, i);
    if (shape.kernel[first + i] < 1 || shape.stride[first + i] < 1 || shape.dilation[first + i] < 1)
      return context.fail("kernel size, stride and dilation must be at least 1");
  }
  geometry.paddingMode = arguments.paddingMode;
  if (!parsePadMode(geometry.paddingMode))
    return context.fail("padding_mode '{0}' is unknown", geometry.paddingMode);
  const Argument &padding = arguments.padding;
  bool isSame = padding.isString() && padding.getString() == "same";
  bool isValid = padding.isString() && padding.getString() == "valid";
  if (padding.isString() && !isSame && !isValid)
    return context.fail("padding must be numbers, 'same' or 'valid', got '{0}'", padding.getString());
  if (isSame) {
    for (size_t axis = first; axis < 3; ++axis) {
      if (shape.stride[axis] != 1)
        return context.fail("padding 'same' needs stride 1, got {0}", shape.stride[axis]);
      int64_t total = shape.dilation[axis] * (shape.kernel[axis] - 1);
      geometry.before[axis] = total / 2;
      geometry.after[axis] = total - total / 2; // the odd one stands at the end
    }
  } else if (!isValid) {
    llvm::SmallVector<int64_t, 4> amounts = toInts(padding);
    for (size_t i = 0; i < spatial; ++i) {
      if (at(amounts, i) < 0)
        return context.fail("padding must not be negative, got {0}", at(amounts, i));
      geometry.before[first + i] = geometry.after[first + i] = at(amounts, i);
    }
  }
  bool isSymmetric = true;
  for (int axis = 0; axis < 3; ++axis)
    isSymmetric &= geometry.before[axis] == geometry.after[axis];
  if (geometry.paddingMode == "zeros" && isSymmetric)
    for (int axis = 0; axis < 3; ++axis) {
      shape.padding[axis] = geometry.before[axis];
      geometry.before[axis] = geometry.after[axis] = 0;
    }
  return geometry;
}

llvm::Expected<View> prepareConvInput(BindContext &context, const View &input, const ConvGeometry &geometry,
                                      uint8_t padCode) {
  View src = input.getRank() == geometry.spatial + 1 ? unsqueezed(input, 0) : input;
  if (geometry.padsFirst()) {
    Padding padding;
    for (size_t axis = 3 - geometry.spatial; axis < 3; ++axis)
      padding.dims.push_back({2 + axis - (3 - geometry.spatial), geometry.before[axis], geometry.after[axis]});
    padding.mode = *parsePadMode(geometry.paddingMode);
    padding.value.fill(static_cast<std::byte>(padCode));
    if (llvm::Error err = checkPadding(context, src, padding))
      return err;
    return emitPad(context, src, padding);
  }
  return getPixelStride(src) ? src : context.toOrder(src, StorageOrder::ChannelsLast);
}

kernels::ConvSizes getConvSizes(const View &src, const ConvGeometry &geometry) {
  int64_t in[3] = {1, 1, 1};
  for (size_t i = 0; i < geometry.spatial; ++i)
    in[3 - geometry.spatial + i] = src.sizes[2 + i];
  return kernels::ConvSizes(geometry.shape, src.sizes[0], in);
}

} // namespace qfx::runtime
