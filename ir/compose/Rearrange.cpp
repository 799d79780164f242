// rot90, reshape_as, diag and diag_embed.
#include "ir/compose/Composer.h"

namespace qfx {

/// Quarter turns from the first dimension to the second.  Rule `rot90_dims`: two different dimensions.
llvm::Expected<Argument> composeRot90(Composer &composer) {
  QFX_TRY(input, composer.input("input", /*takesCodes=*/true));
  QFX_TRY(turns, composer.context.getInt("k"));
  QFX_TRY(given, composer.context.getInts("dims"));
  QFX_TRY(dims, wrapDims(composer.context, given, input.getRank(), /*emptyMeansAll=*/false));
  if (dims.size() != 2)
    return composer.context.fail("dims", "wants two different dimensions, got {0}", dims.size());
  auto flip = [&](Node *x, std::vector<int64_t> along) {
    return composer.function("torch.flip", {x, Argument::ints(along)});
  };
  auto swap = [&](Node *x) { return composer.function("torch.transpose", {x, dims[0], dims[1]}); };
  switch ((turns % 4 + 4) % 4) {
  case 1:
    return Argument(swap(flip(input.node, {dims[1]})));
  case 2:
    return Argument(flip(input.node, {dims[0], dims[1]}));
  case 3:
    return Argument(swap(flip(input.node, {dims[0]})));
  default:
    return Argument(composer.function("torch.clone", {input.node}));
  }
}

llvm::Expected<Argument> composeReshapeAs(Composer &composer) {
  QFX_TRY(input, composer.input("input", /*takesCodes=*/true));
  QFX_TRY(other, composer.input("other", /*takesCodes=*/true));
  Argument::Elements sizes;
  for (size_t i = 0; i < other.getRank(); ++i)
    sizes.push_back(composer.sizeOf(other, i));
  return Argument(composer.reshape(input.node, std::move(sizes)));
}

/// Rule `<op>_offset`: within +-2^30.
static llvm::Error checkOffset(const InferContext &context, int64_t offset) {
  constexpr int64_t kMax = int64_t(1) << 30;
  if (offset < -kMax || offset > kMax)
    return context.fail("offset", "wants a diagonal within +-2^30, got {0}", offset);
  return llvm::Error::success();
}

/// x[..., i] at [..., i + max(-offset, 0), i + max(offset, 0)] of zeros, as the last two dimensions.
static Node *placeOnDiagonal(Composer &composer, Node *x, int64_t size, int64_t offset) {
  Node *column = composer.function("torch.unsqueeze", {x, int64_t(-1)});
  Node *on = composer.function("torch.eye", {size}, {{"dtype", Argument(DType::Bool)}});
  Node *square = composer.function("torch.where", {on, column, int64_t(0)});
  int64_t right = std::max<int64_t>(offset, 0), down = std::max<int64_t>(-offset, 0);
  return composer.function("torch.nn.functional.pad", {square, Argument::ints({right, down, down, right})});
}

/// A matrix with the vector on a diagonal, or the diagonal of a matrix.  Rule `diag_rank`: rank 1 or 2.
llvm::Expected<Argument> composeDiag(Composer &composer) {
  QFX_TRY(input, composer.input("input"));
  QFX_TRY(offset, composer.context.getInt("diagonal"));
  if (input.getRank() == 2)
    return Argument(composer.function("torch.diagonal", {input.node, offset}));
  if (input.getRank() != 1)
    return composer.context.fail("rank", "wants a tensor of rank 1 or 2, got {0}", toString(input.type));
  if (llvm::Error err = checkOffset(composer.context, offset))
    return err;
  if (!input.isStatic())
    return Argument();
  return Argument(placeOnDiagonal(composer, input.node, input.size(0).getValue(), offset));
}

/// Rule `diag_embed_dim`: two different dimensions of the result.
llvm::Expected<Argument> composeDiagEmbed(Composer &composer) {
  QFX_TRY(input, composer.input("input"));
  QFX_TRY(offset, composer.context.getInt("offset"));
  QFX_TRY(first, composer.context.getInt("dim1"));
  QFX_TRY(second, composer.context.getInt("dim2"));
  if (!input.getRank())
    return composer.context.fail("rank", "wants a tensor of rank >= 1, got a scalar");
  if (llvm::Error err = checkOffset(composer.context, offset))
    return err;
  QFX_TRY(dims, wrapDims(composer.context, {first, second}, input.getRank() + 1, /*emptyMeansAll=*/false));
  const Dim &size = input.type.shape.back();
  if (!size.isStatic())
    return Argument();
  Node *square = placeOnDiagonal(composer, input.node, size.getValue(), offset);
  return Argument(composer.function("torch.movedim", {square, Argument::ints({-2, -1}), Argument::ints(dims)}));
}

} // namespace qfx
