// median and kthvalue: an element of the sorted row.
#include "ir/compose/Composer.h"

namespace qfx {

namespace {

/// A row's element by its place in order, with the place it had before.
struct Picked {
  Node *value, *index;
};

} // namespace

static Picked pick(Composer &composer, Node *sorted, int64_t dim, int64_t place, bool keepDim) {
  auto take = [&](int64_t which) {
    Node *one = composer.function("torch.select", {composer.item(sorted, which), dim, place});
    return keepDim ? composer.function("torch.unsqueeze", {one, dim}) : one;
  };
  return {take(0), take(1)};
}

/// The lower median; NaN if the row has one.  Without `dim` of all elements.  Rule `median_empty`: at least one element.
llvm::Expected<Argument> composeMedian(Composer &composer) {
  QFX_TRY(input, composer.input("input"));
  bool ofAll = !composer.context.hasValue("dim");
  QFX_TRY(keep, composer.context.getBool("keepdim"));
  int64_t dim = 0;
  Node *rows = input.node;
  Dim length = multiplyAll(input.type.shape);
  if (ofAll) {
    rows = composer.reshape(rows, {int64_t(-1)});
  } else {
    QFX_TRY(given, composer.context.getInt("dim"));
    QFX_TRY(wrapped, wrapDim(composer.context, given, input.getRank()));
    dim = wrapped;
    if (input.getRank())
      length = input.size(static_cast<size_t>(dim));
    else
      rows = composer.reshape(rows, {int64_t(1)});
  }
  if (!length.isStatic())
    return Argument();
  int64_t size = length.getValue();
  if (size < 1)
    return composer.context.fail("empty", "wants at least one element to choose among, got {0}", toString(input.type));
  bool isScalar = !input.getRank();
  Node *sorted = composer.function("torch.sort", {rows, dim});
  Picked middle = pick(composer, sorted, dim, (size - 1) / 2, keep && !isScalar);
  if (isFloat(input.type.dtype)) { // NaN sorts behind all numbers
    Picked last = pick(composer, sorted, dim, size - 1, keep && !isScalar);
    Node *isNan = composer.function("torch.isnan", {last.value});
    middle.value = composer.function("torch.where", {isNan, last.value, middle.value});
    middle.index = composer.function("torch.where", {isNan, last.index, middle.index});
  }
  if (ofAll)
    return Argument(middle.value);
  return Argument::tuple({middle.value, middle.index});
}

/// The k-th smallest element.  Rule `kthvalue_k`: 1 <= k <= the dimension's size.
llvm::Expected<Argument> composeKthvalue(Composer &composer) {
  QFX_TRY(input, composer.input("input"));
  QFX_TRY(k, composer.context.getInt("k"));
  QFX_TRY(given, composer.context.getInt("dim"));
  QFX_TRY(dim, wrapDim(composer.context, given, input.getRank()));
  QFX_TRY(keep, composer.context.getBool("keepdim"));
  Node *rows = input.getRank() ? input.node : composer.reshape(input.node, {int64_t(1)});
  Dim length = input.getRank() ? input.size(static_cast<size_t>(dim)) : Dim(1);
  if (k < 1 || (length.isStatic() && k > length.getValue()))
    return composer.context.fail("k", "wants k in 1..{0}, got {1}", length, k);
  Picked found = pick(composer, composer.function("torch.sort", {rows, dim}), dim, k - 1, keep && input.getRank());
  return Argument::tuple({found.value, found.index});
}

} // namespace qfx
