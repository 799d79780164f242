// Writes into a part of a tensor as functions: slice_scatter, select_scatter, fill.
#include "ir/compose/Composer.h"

#include <limits>

namespace qfx {

static Node *castLike(Composer &composer, Node *x, DType from, DType to) {
  return from == to ? x : composer.method("to", {x, to});
}

/// `input` with the elements [start, end) of one dimension, every `step`-th, taken from `src` in order.
static Node *replaceSlice(Composer &composer, const Composer::Input &input, Node *src, int64_t dim, int64_t start,
                          int64_t end, int64_t step) {
  int64_t size = input.size(static_cast<size_t>(dim)).getValue();
  Argument::Elements places;
  int64_t next = size;
  for (int64_t i = 0; i < size; ++i)
    places.push_back(i >= start && i < end && (i - start) % step == 0 ? next++ : i);
  Node *both = composer.function("torch.cat", {Argument::list({input.node, src}), dim});
  return composer.function("torch.index_select",
                           {both, dim, composer.function("torch.tensor", {Argument::list(std::move(places))})});
}

/// Does the slice take all of its dimension?  torch.export writes the largest int64 for "to the end".
static bool isWhole(const InferContext &context, int64_t step) {
  auto isBound = [&](llvm::StringRef slot, int64_t number) {
    std::optional<Argument> value = context.getValue(slot).getConstant();
    return !context.hasValue(slot) || (value && value->isInt() && value->getInt() == number);
  };
  return step == 1 && isBound("start", 0) && isBound("end", std::numeric_limits<int64_t>::max());
}

/// Rules `slice_scatter_step` (>= 1), `slice_scatter_shape` (src has the slice's sizes).
llvm::Expected<Argument> composeSliceScatter(Composer &composer) {
  const InferContext &context = composer.context;
  QFX_TRY(input, composer.input("input"));
  QFX_TRY(src, composer.input("src"));
  QFX_TRY(given, context.getInt("dim"));
  QFX_TRY(dim, wrapDim(context, given, input.getRank()));
  QFX_TRY(step, context.getInt("step"));
  if (step < 1)
    return context.fail("step", "wants a step >= 1, got {0}", step);
  if (!input.getRank())
    return context.fail("shape", "wants an input of rank >= 1, got {0}", toString(input.type));
  Node *cast = castLike(composer, src.node, src.type.dtype, input.type.dtype);
  if (isWhole(context, step))
    return Argument(composer.function("torch.clone", {cast})); // whatever the size
  if (!input.size(static_cast<size_t>(dim)).isStatic())
    return Argument();
  int64_t size = input.size(static_cast<size_t>(dim)).getValue();
  auto bound = [&](llvm::StringRef slot, int64_t otherwise) -> llvm::Expected<int64_t> {
    if (!context.hasValue(slot))
      return otherwise;
    QFX_TRY(value, context.getInt(slot));
    return std::min(std::max<int64_t>(value < 0 ? value + size : value, 0), size);
  };
  QFX_TRY(start, bound("start", 0));
  QFX_TRY(end, bound("end", size));
  Shape slice = input.type.shape;
  slice[static_cast<size_t>(dim)] = Dim(end > start ? (end - start - 1) / step + 1 : 0);
  bool fits = src.getRank() == slice.size();
  for (size_t i = 0; fits && i < slice.size(); ++i)
    fits = src.size(i).mayEqual(slice[i]);
  if (!fits)
    return context.fail("shape", "wants a source of the slice's sizes {0}, got {1}", toString(slice), toString(src.type));
  return Argument(replaceSlice(composer, input, cast, dim, start, end, step));
}

/// Rule `select_scatter_index`: within the dimension.
llvm::Expected<Argument> composeSelectScatter(Composer &composer) {
  const InferContext &context = composer.context;
  QFX_TRY(input, composer.input("input"));
  QFX_TRY(src, composer.input("src"));
  QFX_TRY(given, context.getInt("dim"));
  QFX_TRY(dim, wrapDim(context, given, input.getRank()));
  QFX_TRY(index, context.getInt("index"));
  if (!input.getRank() || !input.size(static_cast<size_t>(dim)).isStatic())
    return Argument();
  int64_t size = input.size(static_cast<size_t>(dim)).getValue();
  if (index < -size || index >= size)
    return context.fail("index", "has no place {0} in dimension {1} of {2}", index, dim, toString(input.type));
  int64_t at = index < 0 ? index + size : index;
  Node *cast = castLike(composer, src.node, src.type.dtype, input.type.dtype);
  cast = composer.function("torch.unsqueeze", {cast, dim});
  return Argument(replaceSlice(composer, input, cast, dim, at, at + 1, 1));
}

/// A tensor of the input's type full of one number, given as such or as a tensor of one element.
llvm::Expected<Argument> composeFill(Composer &composer) {
  QFX_TRY(input, composer.input("input"));
  ValueType value = composer.context.getValue("value");
  if (value.getTensor()) {
    QFX_TRY(number, composer.input("value"));
    if (number.getRank())
      return composer.context.fail("value", "wants a number or a tensor of rank 0, got {0}", toString(number.type));
    Node *cast = castLike(composer, number.node, number.type.dtype, input.type.dtype);
    return Argument(composer.function("torch.clone", {composer.method("expand_as", {cast, input.node})}));
  }
  std::optional<Argument> number = value.getConstant();
  if (!number || !(number->isNumber() || number->isBool()))
    return composer.context.fail("value", "wants a number or a tensor of rank 0");
  return Argument(composer.function("torch.full_like", {input.node, *number}));
}

} // namespace qfx
