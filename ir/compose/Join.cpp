// hstack, vstack, dstack and column_stack as concatenations, tensor_split as slices.
#include "ir/OpKind.h"
#include "ir/compose/Composer.h"

namespace qfx {

/// Each tensor gets the missing dimensions where the operator wants them, then all are joined.
llvm::Expected<Argument> composeStacked(Composer &composer) {
  OpKind kind = composer.context.getCall().op->kind;
  QFX_TRY(tensors, composer.inputs("tensors", /*takesCodes=*/true));
  Argument::Elements parts;
  size_t rank = 0;
  for (const Composer::Input &tensor : tensors) {
    Node *part = tensor.node;
    size_t now = tensor.getRank();
    auto insert = [&](int64_t dim) {
      part = composer.function("torch.unsqueeze", {part, dim});
      ++now;
    };
    if (now == 0)
      insert(0);
    if (kind == OpKind::Vstack || kind == OpKind::Dstack) {
      if (now == 1)
        insert(0);
      if (kind == OpKind::Dstack && now == 2)
        insert(2);
    } else if (kind == OpKind::ColumnStack && now == 1) {
      insert(1);
    }
    if (parts.empty())
      rank = now;
    parts.push_back(part);
  }
  int64_t dim = kind == OpKind::Vstack ? 0 : kind == OpKind::Dstack ? 2 : kind == OpKind::ColumnStack ? 1 : rank > 1;
  return Argument(composer.function("torch.cat", {Argument::list(std::move(parts)), dim}));
}

/// Rules `tensor_split_rank` (not a scalar), `tensor_split_sections` (an int > 0 or a list of ints).
llvm::Expected<Argument> composeTensorSplit(Composer &composer) {
  QFX_TRY(input, composer.input("input", /*takesCodes=*/true));
  QFX_TRY(given, composer.context.getInt("dim"));
  QFX_TRY(dim, wrapDim(composer.context, given, input.getRank()));
  if (!input.getRank())
    return composer.context.fail("rank", "wants a tensor of rank >= 1, got a scalar");
  const Dim &length = input.size(static_cast<size_t>(dim));
  if (!length.isStatic())
    return Argument();
  int64_t size = length.getValue();
  llvm::SmallVector<int64_t, 8> bounds{0};
  std::optional<Argument> sections = composer.context.getValue("indices_or_sections").getConstant();
  if (sections && sections->isInt()) {
    int64_t count = sections->getInt();
    if (count < 1 || count > (1 << 20))
      return composer.context.fail("sections", "wants 1 to 2^20 sections, got {0}", count);
    for (int64_t i = 0; i < count; ++i)
      bounds.push_back(bounds.back() + size / count + (i < size % count));
  } else {
    QFX_TRY(indices, composer.context.getInts("indices_or_sections"));
    for (int64_t index : indices)
      bounds.push_back(std::clamp<int64_t>(index < 0 ? index + size : index, 0, size));
    bounds.push_back(size);
  }
  Argument::Elements pieces;
  for (size_t i = 0; i + 1 < bounds.size(); ++i)
    pieces.push_back(composer.function("torch.narrow", {input.node, dim, std::min(bounds[i], size),
                                                        std::max<int64_t>(bounds[i + 1] - bounds[i], 0)}));
  return Argument::tuple(std::move(pieces));
}

} // namespace qfx
