// tensordot, bilinear and linear of float16 weights as matrix products, rounding to decimals, weight_norm and cosine_similarity as quotients, distances and sums over channels.
#include "ir/compose/Composer.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstdlib>

namespace qfx {

/// The dimensions that tensordot sums over: the last of `a` and the first of `b`, or as listed.
static llvm::Error readContracted(Composer &composer, const Composer::Input &a, const Composer::Input &b,
                                  llvm::SmallVector<int64_t, 4> &left, llvm::SmallVector<int64_t, 4> &right) {
  ValueType value = composer.context.getValue("dims");
  if (composer.context.hasValue("dims_other")) {
    QFX_TRY(first, composer.context.getInts("dims"));
    QFX_TRY(second, composer.context.getInts("dims_other"));
    left = first;
    right = second;
  } else if (std::optional<Argument> count = value.getConstant(); count && count->isInt()) {
    int64_t n = count->getInt(), rank = static_cast<int64_t>(a.getRank());
    if (n < 0 || n > rank || n > static_cast<int64_t>(b.getRank()))
      return composer.context.fail("dims", "cannot sum over {0} dimensions of {1} and {2}", n, toString(a.type),
                                   toString(b.type));
    for (int64_t i = 0; i < n; ++i) {
      left.push_back(rank - n + i);
      right.push_back(i);
    }
  } else {
    const auto *pair = value.getSequence();
    std::optional<Argument> lists[2];
    for (size_t k = 0; pair && k < 2 && pair->elements.size() == 2; ++k)
      lists[k] = pair->elements[k].getConstant();
    if (!lists[0] || !lists[1])
      return composer.context.fail("dims", "wants a number or two lists of dimensions");
    for (auto [list, into] : {std::pair(&*lists[0], &left), std::pair(&*lists[1], &right)}) {
      Argument::Elements elements(1, *list);
      if (list->isSequence())
        elements.assign(list->getElements().begin(), list->getElements().end());
      for (const Argument &one : elements)
        if (one.isInt())
          into->push_back(one.getInt());
    }
  }
  for (auto [tensor, dims] : {std::pair(&a, &left), std::pair(&b, &right)}) {
    QFX_TRY(wrapped, wrapDims(composer.context, *dims, tensor->getRank(), /*emptyMeansAll=*/false));
    *dims = wrapped;
  }
  if (left.size() != right.size())
    return composer.context.fail("dims", "wants as many dimensions of both, got {0} and {1}", left.size(), right.size());
  return llvm::Error::success();
}

/// Rules `tensordot_dims` and `tensordot_shape`: summed dimensions have equal sizes.
llvm::Expected<Argument> composeTensordot(Composer &composer) {
  QFX_TRY(a, composer.input("a"));
  QFX_TRY(b, composer.input("b"));
  llvm::SmallVector<int64_t, 4> left, right;
  if (llvm::Error err = readContracted(composer, a, b, left, right))
    return err;
  if (a.type.dtype != b.type.dtype)
    return composer.context.fail("dtype", "wants operands of one dtype, got {0} and {1}", toString(a.type), toString(b.type));
  if (!a.isStatic() || !b.isStatic())
    return Argument();
  Argument::Elements sizes;
  int64_t rows = 1, columns = 1, inner = 1;
  llvm::SmallVector<int64_t, 8> aOrder, bOrder(right.begin(), right.end());
  for (size_t i = 0; i < a.getRank(); ++i)
    if (!llvm::is_contained(left, static_cast<int64_t>(i))) {
      aOrder.push_back(static_cast<int64_t>(i));
      rows *= a.size(i).getValue();
      sizes.push_back(a.size(i).getValue());
    }
  for (size_t i = 0; i < left.size(); ++i) {
    const Dim &size = a.size(static_cast<size_t>(left[i])), &other = b.size(static_cast<size_t>(right[i]));
    if (size != other)
      return composer.context.fail("shape", "cannot sum dimension {0} of {1} with dimension {2} of {3}", left[i],
                                   toString(a.type), right[i], toString(b.type));
    aOrder.push_back(left[i]);
    inner *= size.getValue();
  }
  for (size_t i = 0; i < b.getRank(); ++i)
    if (!llvm::is_contained(right, static_cast<int64_t>(i))) {
      bOrder.push_back(static_cast<int64_t>(i));
      columns *= b.size(i).getValue();
      sizes.push_back(b.size(i).getValue());
    }
  Node *first = composer.reshape(composer.permute(a.node, aOrder), {rows, inner});
  Node *second = composer.reshape(composer.permute(b.node, bOrder), {inner, columns});
  return Argument(composer.reshape(composer.function("torch.mm", {first, second}), std::move(sizes)));
}

/// Half to even, in steps of 10^-decimals (operators 24.5).  Rule `round_to_decimals`: powers that float32 holds.
llvm::Expected<Argument> composeRoundTo(Composer &composer) {
  QFX_TRY(input, composer.input("input"));
  QFX_TRY(decimals, composer.context.getInt("decimals"));
  if (decimals < -38 || decimals > 38)
    return composer.context.fail("decimals", "wants -38 to 38 decimals, got {0}", decimals);
  if (decimals == 0)
    return Argument(composer.function("aten.round.default", {input.node}));
  const double power = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  const char *into = decimals > 0 ? "torch.mul" : "torch.div", *back = decimals > 0 ? "torch.div" : "torch.mul";
  return Argument(composer.function(back, {composer.function("aten.round.default", {composer.function(into, {input.node, power})}), power}));
}

/// The weight is packed as float16 where it is used (operators 11.2).
llvm::Expected<Argument> composeLinearFp16(Composer &composer) {
  QFX_TRY(input, composer.input("input"));
  QFX_TRY(weight, composer.input("weight"));
  Argument bias;
  if (composer.context.hasValue("bias")) {
    QFX_TRY(given, composer.input("bias"));
    bias = given.node;
  }
  Node *packed = composer.function("torch.ops.quantized.linear_prepack_fp16", {weight.node, bias});
  return Argument(composer.function("torch.ops.quantized.linear_dynamic_fp16", {input.node, packed}));
}

/// y[..., o] = sum_ij x1[..., i] * weight[o, i, j] * x2[..., j] + bias[o].  Rules `bilinear_rank`, `bilinear_shape`.
llvm::Expected<Argument> composeBilinear(Composer &composer) {
  QFX_TRY(x1, composer.input("input1"));
  QFX_TRY(x2, composer.input("input2"));
  QFX_TRY(weight, composer.input("weight"));
  if (weight.getRank() != 3 || !x1.getRank() || x1.getRank() != x2.getRank())
    return composer.context.fail("rank", "wants inputs of one rank >= 1 and a weight of rank 3, got {0}, {1} and {2}",
                                 toString(x1.type), toString(x2.type), toString(weight.type));
  Argument::Elements sizes;
  for (size_t i = 0; i + 1 < x1.getRank(); ++i) {
    if (!x1.size(i).mayEqual(x2.size(i)))
      return composer.context.fail("shape", "wants inputs whose sizes differ in the last dimension only, got {0} and {1}",
                                   toString(x1.type), toString(x2.type));
    sizes.push_back(composer.sizeOf(x1, i));
  }
  sizes.push_back(composer.sizeOf(weight, 0));
  auto flat = [&](const Composer::Input &x) {
    return composer.reshape(x.node, {int64_t(-1), composer.sizeOf(x, x.getRank() - 1)});
  };
  Node *left = flat(x1), *right = flat(x2);
  Node *result = composer.function("torch.einsum", {"bi,oij,bj->bo", left, weight.node, right});
  if (composer.context.hasValue("bias")) {
    QFX_TRY(bias, composer.input("bias"));
    result = composer.function("torch.add", {result, bias.node});
  }
  return Argument(composer.reshape(result, std::move(sizes)));
}

/// v * (g / |v|), the norm taken over all dimensions but `dim` (-1: over all).
llvm::Expected<Argument> composeWeightNorm(Composer &composer) {
  QFX_TRY(v, composer.input("v"));
  QFX_TRY(g, composer.input("g"));
  QFX_TRY(kept, composer.context.getInt("dim"));
  if (!v.getRank() || kept < -1 || kept >= static_cast<int64_t>(v.getRank()))
    return composer.context.fail("dim", "has no dimension {0} in {1}", kept, toString(v.type));
  llvm::SmallVector<int64_t, 8> dims;
  for (int64_t i = 0; i < static_cast<int64_t>(v.getRank()); ++i)
    if (i != kept)
      dims.push_back(i);
  Node *norm = dims.empty() ? composer.function("torch.abs", {v.node})
                            : composer.function("torch.norm", {v.node, 2.0},
                                                {{"dim", Argument::ints(dims)}, {"keepdim", Argument(kept != -1)}});
  return Argument(composer.function("torch.mul", {v.node, composer.function("torch.div", {g.node, norm})}));
}

/// x1 . x2 / (max(|x1|, eps) * max(|x2|, eps)) along a dimension of the broadcast operands.
llvm::Expected<Argument> composeCosineSimilarity(Composer &composer) {
  QFX_TRY(x1, composer.input("x1"));
  QFX_TRY(x2, composer.input("x2"));
  QFX_TRY(dim, composer.context.getInt("dim"));
  QFX_TRY(eps, composer.context.getNumber("eps"));
  QFX_TRY(shape, broadcastShapes(composer.context, x1.type.shape, x2.type.shape));
  QFX_TRY(wrapped, wrapDim(composer.context, dim, shape.size()));
  int64_t fromEnd = wrapped - static_cast<int64_t>(std::max<size_t>(shape.size(), 1));
  auto unit = [&](const Composer::Input &x) {
    // An operand without that dimension is a repeated number along it.
    Node *value = x.node;
    for (size_t rank = x.getRank(); rank < shape.size(); ++rank)
      value = composer.function("torch.unsqueeze", {value, int64_t(0)});
    Argument::Elements sizes(shape.size(), Argument(int64_t(-1)));
    size_t at = static_cast<size_t>(wrapped);
    if (at < shape.size() && shape[at].isStatic())
      sizes[at] = shape[at].getValue();
    if (!shape.empty())
      value = composer.method("expand", {value, Argument::list(std::move(sizes))});
    Node *norm = composer.function("torch.norm", {value, 2.0}, {{"dim", Argument(fromEnd)}, {"keepdim", Argument(true)}});
    return composer.function("torch.div", {value, composer.function("torch.clamp", {norm, eps})});
  };
  Node *left = unit(x1), *right = unit(x2);
  return Argument(composer.method("sum", {composer.function("torch.mul", {left, right}), fromEnd}));
}

/// The p-norm of x1 - x2 + eps along the last dimension.
llvm::Expected<Argument> composePairwiseDistance(Composer &composer) {
  QFX_TRY(x1, composer.input("x1"));
  QFX_TRY(x2, composer.input("x2"));
  QFX_TRY(p, composer.context.getNumber("p"));
  QFX_TRY(eps, composer.context.getNumber("eps"));
  QFX_TRY(keep, composer.context.getBool("keepdim"));
  Node *difference = composer.function("torch.add", {composer.function("torch.sub", {x1.node, x2.node}), eps});
  return Argument(composer.function("torch.norm", {difference, p, Argument::ints({-1}), keep}));
}

/// x * (k + alpha / size * sum over near channels of x^2)^-beta.  PyTorch's running sum never drops the first channel (torch.nn.modules.
/// _functions, CrossMapLRN2d: `c > pre_pad`), so that it counts for all channels here, too.  Rule `cross_map_lrn_rank`.
llvm::Expected<Argument> composeCrossMapLrn(Composer &composer) {
  const InferContext &context = composer.context;
  QFX_TRY(input, composer.input("input"));
  QFX_TRY(size, context.getInt("size"));
  QFX_TRY(alpha, context.getNumber("alpha"));
  QFX_TRY(beta, context.getNumber("beta"));
  QFX_TRY(k, context.getNumber("k"));
  if (input.getRank() != 4 || size < 1)
    return context.fail("rank", "wants an input of rank 4 and a size >= 1, got {0} and {1}", toString(input.type), size);
  if (!input.size(1).isStatic())
    return Argument();
  int64_t reach = (size - 1) / 2;
  Node *at = composer.function("torch.arange", {input.size(1).getValue()});
  Node *row = composer.function("torch.unsqueeze", {at, int64_t(1)});
  Node *below = composer.function("torch.le", {at, composer.function("torch.add", {row, reach})});
  Node *above = composer.function("torch.ge", {at, composer.function("torch.sub", {row, reach})});
  Node *isFirst = composer.function("torch.eq", {at, int64_t(0)});
  Node *near = composer.function("torch.logical_and", {below, composer.function("torch.logical_or", {above, isFirst})});
  Node *squares = composer.function("torch.flatten", {composer.function("torch.square", {input.node}), int64_t(2)});
  Node *sums = composer.function("torch.matmul", {composer.method("to", {near, input.type.dtype}), squares});
  Node *scale = composer.function(
      "torch.add", {composer.function("torch.mul", {sums, alpha / static_cast<double>(size)}), k});
  Node *factor = composer.method("view_as", {composer.function("torch.pow", {scale, -beta}), input.node});
  return Argument(composer.function("torch.mul", {factor, input.node}));
}

} // namespace qfx
