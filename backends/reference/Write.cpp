// Writes into all or a part of a tensor: a copy of it in which the elements are replaced.
#include "backends/reference/AdvancedIndex.h"
#include "backends/reference/Emit.h"
#include "backends/runtime/CopyStep.h"
#include "backends/runtime/Kernels.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx::runtime {

namespace {

/// Without leading sizes of 1 that `rank` dimensions have no room for: PyTorch drops them.
View fitRank(BindContext &context, View value, size_t rank) {
  while (value.getRank() > rank)
    value = reshaped(context, value, llvm::ArrayRef<int64_t>(value.sizes).drop_front());
  return value;
}

/// A value as elements of the place's dtype and parameters, repeated to `sizes`.
llvm::Expected<View> toElements(BindContext &context, const View &value, const View &place, llvm::ArrayRef<int64_t> sizes) {
  if (!isQuantized(place.getDType())) {
    llvm::Expected<View> cast = castTo(context, value, place.getDType());
    if (!cast)
      return cast.takeError();
    return broadcasted(*cast, sizes);
  }
  if (isQuantized(value.getDType())) {
    if (!place.type.quantizer || !value.type.quantizer)
      return context.fail("the quantization parameters of {0} and {1} must be known before the graph runs", toString(place.type),
                          toString(value.type));
    return broadcasted(value, sizes);
  }
  llvm::Expected<View> real = castTo(context, value, DType::Float32);
  if (!real)
    return real.takeError();
  TensorType type = withSizes(place, sizes);
  if (!type.quantizer)
    return context.fail("the quantization parameters of {0} must be known before the graph runs", toString(place.type));
  return quantizeTo(context, broadcasted(*real, sizes), type);
}

/// A copy of `input` (dense) with `value` at `place`, a view of it of the value's sizes.  It lies where the input lies, if nobody else reads that.
View emitWrite(BindContext &context, const View &input, const View &place, const View &value) {
  View dst = context.allocate(input.type, input.strides);
  View target = movedTo(place, input, dst);
  StepTraits traits;
  if (value.buffer != input.buffer)
    traits.inPlaceSrc = &input;
  context.emit(
      {&input, &value}, {&dst},
      [input, value, dst, target](RunContext &run) {
        if (dst.getBytes() != input.getBytes())
          runCopy(run, input, dst);
        runCopy(run, value, target);
      },
      traits);
  return dst;
}

/// The same elements as plain integers if they are codes.
View asPlain(View view) {
  if (isQuantized(view.getDType()))
    view.type = withSizes(view, view.sizes, toUnderlyingDType(view.getDType()));
  return view;
}

/// `place` with the value where the mask, which covers the dimensions from `dim` on, is true.
llvm::Expected<View> emitMasked(BindContext &context, const View &place, const View &mask, size_t dim, View value) {
  const size_t covered = mask.getRank(), behind = place.getRank() - dim - covered;
  if (!covered || !std::equal(mask.sizes.begin(), mask.sizes.end(), place.sizes.begin() + dim))
    return context.fail("the mask {0} does not fit dimension {1} of {2}", toString(mask.type), dim, toString(place.type));
  if (value.getRank() > behind) { // the value's dimension that runs over the elements of the mask
    Sizes sizes = value.sizes;
    auto *chosen = sizes.end() - 1 - behind;
    if (*chosen != 1)
      return context.fail("a value for each element that the mask chooses, {0}, is not supported: how many there are is known only when the "
                          "graph runs", toString(value.type));
    sizes.insert(chosen, covered - 1, 1);
    value = reshaped(context, value, sizes);
  }
  View spread = mask;
  spread.type = withSizes(mask, place.sizes);
  spread.sizes = place.sizes;
  spread.strides.insert(spread.strides.begin(), dim, 0);
  spread.strides.append(behind, 0);
  llvm::Expected<View> elements = toElements(context, value, place, place.sizes);
  if (!elements)
    return elements.takeError();
  View operands[] = {spread, asPlain(*elements), asPlain(place)};
  llvm::Expected<DType> dtype = getComputeDType(context, {operands[1], operands[2]});
  if (!dtype)
    return dtype.takeError();
  for (View &operand : llvm::MutableArrayRef<View>(operands).drop_front()) {
    llvm::Expected<View> cast = castTo(context, operand, *dtype);
    if (!cast)
      return cast.takeError();
    operand = *cast;
  }
  return castTo(context, emitPointwise(context, kernels::PointwiseKind::Select, operands, place.sizes), asPlain(place).getDType());
}

/// The tensor in a slot, or the number there as one of rank 0 that `place` can take.
llvm::Expected<View> getSource(BindContext &context, llvm::StringRef slot, const View &place) {
  if (context.getValue(slot).isTensor())
    return context.getTensor(slot);
  return getNumber(context, slot, isQuantized(place.getDType()) ? DType::Float32 : place.getDType());
}

} // namespace

/// copy_: the source as the input's dtype and sizes; a quantized source as it is.
llvm::Expected<RuntimeValue> bindCopy(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<View> src = getSource(context, "src", *input);
  if (!src)
    return src.takeError();
  llvm::Expected<View> elements = toElements(context, *src, *input, input->sizes);
  if (!elements)
    return elements.takeError();
  return RuntimeValue(*elements);
}

/// setitem: by ints, slices, None and Ellipsis, with index tensors or one mask among them.
llvm::Expected<RuntimeValue> bindSetItem(BindContext &context) {
  llvm::Expected<View> given = context.getTensor("input");
  if (!given)
    return given.takeError();
  View input = context.toDense(*given);
  llvm::Expected<IndexedView> part = indexView(context, input, context.getCall().get("index").arg);
  if (!part)
    return part.takeError();
  llvm::Expected<ValueType> selected = getOpInfo(OpKind::GetItem).infer(context.attrs()); // of the same slots
  if (!selected)
    return selected.takeError();
  View &place = part->view;
  place.type.quantizer = selected->getTensor()->quantizer;
  llvm::Expected<View> source = getSource(context, "value", place);
  if (!source)
    return source.takeError();
  const View value = fitRank(context, *source, selected->getTensor()->getRank());
  const size_t numTensors = llvm::count_if(part->tensors, [](const std::optional<View> &index) { return index.has_value(); });
  if (!numTensors) {
    llvm::Expected<View> elements = toElements(context, value, place, place.sizes);
    if (!elements)
      return elements.takeError();
    return RuntimeValue(emitWrite(context, input, place, *elements));
  }
  const auto *mask = llvm::find_if(part->tensors, [](const std::optional<View> &index) { return index && index->getDType() == DType::Bool; });
  if (mask == part->tensors.end()) {
    llvm::Expected<View> elements = toElements(context, value, place, value.sizes);
    if (!elements)
      return elements.takeError();
    llvm::Expected<View> written = scatterAdvanced(context, input, place, part->tensors, *elements);
    if (!written)
      return written.takeError();
    return RuntimeValue(*written);
  }
  if (numTensors > 1)
    return context.fail("a mask beside other index tensors is not supported: its places are known only when the graph runs");
  llvm::Expected<View> masked = emitMasked(context, place, **mask, static_cast<size_t>(mask - part->tensors.begin()), value);
  if (!masked)
    return masked.takeError();
  return RuntimeValue(emitWrite(context, input, place, *masked));
}

} // namespace qfx::runtime
