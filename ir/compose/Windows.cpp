// torchvision's Swin functions: attention in shifted windows, its position bias, the merging of patches.
#include "ir/compose/Composer.h"

#include <cmath>
#include <limits>

namespace qfx {

namespace {

/// A side longer than any image, so that sizes and areas of windows are numbers.
constexpr int64_t kMaxSide = 1 << 20;

bool isSide(int64_t size) { return size >= 1 && size <= kMaxSide; }

/// One side of an image cut into windows.
struct Side {
  int64_t size, padded, window, shift;
  int64_t countWindows() const { return padded / window; }
};

/// Numbers of one call.
struct Windows {
  Side height, width;
  int64_t channels, heads;
  int64_t getArea() const { return height.window * width.window; }
  int64_t countWindows() const { return height.countWindows() * width.countWindows(); }
  bool isShifted() const { return height.shift + width.shift > 0; }
};

} // namespace

static Node *pad(Composer &composer, Node *x, int64_t right, int64_t below) {
  return right || below
             ? composer.function("torch.nn.functional.pad", {x, Argument::ints({0, 0, 0, right, 0, below})})
             : x;
}

static Node *roll(Composer &composer, Node *x, int64_t down, int64_t right) {
  return composer.function("torch.roll", {x, Argument::ints({down, right}), Argument::ints({1, 2})});
}

/// Pixels of one side by what they were beside before the shift: 0, 1 or 2.
static Node *makeRegions(Composer &composer, const Side &side) {
  Node *at = composer.function("torch.arange", {side.padded});
  auto from = [&](int64_t start) {
    return composer.method("to", {composer.function("torch.ge", {at, start}), DType::Int64});
  };
  Node *last = from(side.padded - side.shift);
  if (!side.shift)
    return last; // not shifted: every pixel is in one region
  return composer.function("torch.add", {from(side.padded - std::max(side.window, side.shift)), last});
}

/// [windows, area, area]: -100 between pixels that were no neighbours before the shift, else 0.
static Node *makeMask(Composer &composer, const Windows &windows, DType dtype) {
  const Side &h = windows.height, &w = windows.width;
  Node *rows = composer.function("torch.mul", {makeRegions(composer, h), int64_t(3)});
  Node *regions = composer.function("torch.add", {composer.function("torch.unsqueeze", {rows, int64_t(1)}),
                                                  makeRegions(composer, w)});
  regions = composer.reshape(regions, {h.countWindows(), h.window, w.countWindows(), w.window});
  regions = composer.reshape(composer.permute(regions, {0, 2, 1, 3}), {windows.countWindows(), windows.getArea()});
  Node *differ = composer.function("torch.ne", {composer.function("torch.unsqueeze", {regions, int64_t(1)}),
                                                composer.function("torch.unsqueeze", {regions, int64_t(2)})});
  return composer.function("torch.mul", {composer.method("to", {differ, dtype}), -100.0});
}

/// Swin V2 has no bias for keys: the middle third of the joint bias counts as zeros.
static Node *dropKeyBias(Composer &composer, const Composer::Input &bias) {
  int64_t third = multiplyAll(bias.type.shape).getValue() / 3;
  auto part = [&](int64_t start, int64_t count) {
    return composer.function("torch.narrow", {bias.node, int64_t(0), start, count});
  };
  int64_t rest = multiplyAll(bias.type.shape).getValue() - 2 * third;
  Node *zeros = composer.function("torch.zeros_like", {part(third, third)});
  return composer.function("torch.cat", {Argument::list({part(0, third), zeros, part(2 * third, rest)}), int64_t(0)});
}

/// Scores of queries and keys [windows, heads, area, depth]: scaled products, or cosines with a learnt scale (V2).
static llvm::Expected<Node *> score(Composer &composer, Node *queries, Node *keys, int64_t depth) {
  auto turned = [&](Node *x) { return composer.function("torch.transpose", {x, int64_t(-2), int64_t(-1)}); };
  if (!composer.context.hasValue("logit_scale")) {
    Node *scaled = composer.function("torch.mul", {queries, std::pow(static_cast<double>(depth), -0.5)});
    return composer.function("torch.matmul", {scaled, turned(keys)});
  }
  QFX_TRY(scale, composer.input("logit_scale"));
  auto unit = [&](Node *x) {
    return composer.function("torch.nn.functional.normalize", {x}, {{"dim", Argument(int64_t(-1))}});
  };
  Node *cosines = composer.function("torch.matmul", {unit(queries), turned(unit(keys))});
  Node *bounded = composer.function("torch.clamp", {scale.node}, {{"max", Argument(std::log(100.0))}});
  return composer.function("torch.mul", {cosines, composer.function("torch.exp", {bounded})});
}

/// Rules `<op>_rank`, `<op>_window` (two sizes in 1..2^20, two shifts in 0..2^20), `<op>_heads` (they divide the channels).
static llvm::Expected<std::optional<Windows>> readWindows(Composer &composer, const Composer::Input &input) {
  const InferContext &context = composer.context;
  if (input.getRank() != 4)
    return context.fail("rank", "wants an input [N, H, W, C], got {0}", toString(input.type));
  QFX_TRY(window, context.getInts("window_size"));
  QFX_TRY(shift, context.getInts("shift_size"));
  QFX_TRY(heads, context.getInt("num_heads"));
  bool fits = window.size() == 2 && shift.size() == 2;
  for (size_t i = 0; fits && i < 2; ++i)
    fits = isSide(window[i]) && (shift[i] == 0 || isSide(shift[i]));
  if (!fits)
    return context.fail("window", "wants two window sizes in 1..{0} and two shifts in 0..{0}", kMaxSide);
  for (size_t i = 1; i < 4; ++i)
    if (!input.size(i).isStatic())
      return std::optional<Windows>();
  Windows windows;
  windows.channels = input.size(3).getValue();
  windows.heads = heads;
  if (heads < 1 || windows.channels % heads)
    return context.fail("heads", "cannot cut {0} channels into {1} heads", windows.channels, heads);
  Side *sides[2] = {&windows.height, &windows.width};
  for (size_t i = 0; i < 2; ++i) {
    int64_t size = input.size(i + 1).getValue();
    int64_t padded = (size + window[i] - 1) / window[i] * window[i];
    *sides[i] = {size, padded, window[i], window[i] >= padded ? 0 : shift[i]};
  }
  return std::optional<Windows>(windows);
}

/// Attention of every window over itself, after a cyclic shift.  Source: torchvision, models/swin_transformer.py.
llvm::Expected<Argument> composeShiftedWindowAttention(Composer &composer) {
  const InferContext &context = composer.context;
  QFX_TRY(input, composer.input("input"));
  QFX_TRY(found, readWindows(composer, input));
  if (!found)
    return Argument();
  const Windows &windows = *found;
  const Side &h = windows.height, &w = windows.width;
  int64_t area = windows.getArea(), depth = windows.channels / windows.heads;
  Node *x = pad(composer, input.node, w.padded - w.size, h.padded - h.size);
  if (windows.isShifted())
    x = roll(composer, x, -h.shift, -w.shift);
  x = composer.reshape(x, {int64_t(-1), h.countWindows(), h.window, w.countWindows(), w.window, windows.channels});
  x = composer.reshape(composer.permute(x, {0, 1, 3, 2, 4, 5}), {int64_t(-1), area, windows.channels});

  auto linear = [&](Node *of, llvm::StringRef weightSlot, llvm::StringRef biasSlot) -> llvm::Expected<Node *> {
    QFX_TRY(weight, composer.input(weightSlot));
    if (!context.hasValue(biasSlot))
      return composer.function("torch.nn.functional.linear", {of, weight.node});
    QFX_TRY(bias, composer.input(biasSlot));
    bool drops = biasSlot == "qkv_bias" && context.hasValue("logit_scale") && bias.isStatic();
    return composer.function("torch.nn.functional.linear",
                             {of, weight.node, drops ? dropKeyBias(composer, bias) : bias.node});
  };
  QFX_TRY(joint, linear(x, "qkv_weight", "qkv_bias"));
  joint = composer.permute(composer.reshape(joint, {int64_t(-1), area, int64_t(3), windows.heads, depth}), {2, 0, 3, 1, 4});
  auto part = [&](int64_t which) { return composer.function("torch.select", {joint, int64_t(0), which}); };
  QFX_TRY(scores, score(composer, part(0), part(1), depth));
  QFX_TRY(bias, composer.input("relative_position_bias"));
  scores = composer.function("torch.add", {scores, bias.node});
  if (windows.isShifted()) {
    Node *mask = composer.function("torch.unsqueeze", {makeMask(composer, windows, input.type.dtype), int64_t(1)});
    scores = composer.reshape(scores, {int64_t(-1), windows.countWindows(), windows.heads, area, area});
    scores = composer.function("torch.add", {scores, mask});
    scores = composer.reshape(scores, {int64_t(-1), windows.heads, area, area});
  }
  QFX_TRY(training, context.getBool("training"));
  auto drop = [&](Node *from, llvm::StringRef slot) -> llvm::Expected<Node *> {
    QFX_TRY(p, context.getNumber(slot));
    return composer.function("torch.nn.functional.dropout", {from, p}, {{"training", Argument(training)}});
  };
  Node *shares = composer.function("torch.nn.functional.softmax", {scores}, {{"dim", Argument(int64_t(-1))}});
  QFX_TRY(weights, drop(shares, "attention_dropout"));
  Node *heard = composer.function("torch.matmul", {weights, part(2)});
  heard = composer.function("torch.transpose", {heard, int64_t(1), int64_t(2)});
  QFX_TRY(projected, linear(composer.reshape(heard, {int64_t(-1), area, windows.channels}), "proj_weight", "proj_bias"));
  QFX_TRY(y, drop(projected, "dropout"));

  y = composer.reshape(y, {int64_t(-1), h.countWindows(), w.countWindows(), h.window, w.window, windows.channels});
  y = composer.reshape(composer.permute(y, {0, 1, 3, 2, 4, 5}), {int64_t(-1), h.padded, w.padded, windows.channels});
  if (windows.isShifted())
    y = roll(composer, y, h.shift, w.shift);
  y = composer.function("torch.narrow", {y, int64_t(1), int64_t(0), h.size});
  y = composer.function("torch.narrow", {y, int64_t(2), int64_t(0), w.size});
  return Argument(composer.method("contiguous", {y}));
}

/// [1, heads, area, area] from a table of biases and the index of every pair of pixels.  Rule `<op>_window`.
llvm::Expected<Argument> composeRelativePositionBias(Composer &composer) {
  QFX_TRY(table, composer.input("relative_position_bias_table"));
  QFX_TRY(index, composer.input("relative_position_index"));
  QFX_TRY(window, composer.context.getInts("window_size"));
  if (window.size() != 2 || !isSide(window[0]) || !isSide(window[1]))
    return composer.context.fail("window", "wants two window sizes in 1..{0}", kMaxSide);
  int64_t area = window[0] * window[1];
  Node *rows = composer.function("torch.index_select", {table.node, int64_t(0), index.node});
  Node *bias = composer.permute(composer.reshape(rows, {area, area, int64_t(-1)}), {2, 0, 1});
  return Argument(composer.function("torch.unsqueeze", {composer.method("contiguous", {bias}), int64_t(0)}));
}

/// The pixels of every 2 x 2 square beside each other, in the order (0, 0), (1, 0), (0, 1), (1, 1).  Rule `<op>_rank`.
llvm::Expected<Argument> composePatchMergingPad(Composer &composer) {
  QFX_TRY(x, composer.input("x"));
  size_t rank = x.getRank();
  if (rank < 3)
    return composer.context.fail("rank", "wants an input [..., H, W, C], got {0}", toString(x.type));
  const Dim &height = x.size(rank - 3), &width = x.size(rank - 2);
  if (!height.isStatic() || !width.isStatic())
    return Argument();
  Node *even = pad(composer, x.node, width.getValue() % 2, height.getValue() % 2);
  auto everySecond = [&](Node *from, int64_t dim, int64_t start) {
    return composer.function("aten.slice.Tensor",
                             {from, dim, start, std::numeric_limits<int64_t>::max(), int64_t(2)});
  };
  Argument::Elements parts;
  for (int64_t column : {0, 1})
    for (int64_t row : {0, 1})
      parts.push_back(everySecond(everySecond(even, -3, row), -2, column));
  return Argument(composer.function("torch.cat", {Argument::list(std::move(parts)), int64_t(-1)}));
}

} // namespace qfx
