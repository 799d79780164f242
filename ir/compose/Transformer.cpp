// PyTorch's Transformer modules: calls of their children, residual sums between them.
#include "ir/compose/Composer.h"

#include "ir/Module.h"

namespace qfx {

namespace {

/// A layer being written: its own slots by name, its children by path.
class Layer {
public:
  explicit Layer(Composer &composer) : composer(composer) {}

  /// The optional tensor in a slot as an argument: the same placeholder each time.
  llvm::Expected<Argument> optional(llvm::StringRef slot) {
    if (!composer.context.hasValue(slot))
      return Argument();
    QFX_TRY(input, composer.input(slot));
    return Argument(input.node);
  }

  /// norm(x), or x where a norm stands behind the sum.
  llvm::Expected<Node *> before(bool isFirst, llvm::StringRef norm, Node *x) {
    return isFirst ? composer.callChild(norm, {x}) : llvm::Expected<Node *>(x);
  }
  /// x + dropout(part), normed where the norm stands behind the sum.
  llvm::Expected<Node *> join(bool isFirst, llvm::StringRef norm, llvm::StringRef dropout, Node *x, Node *part) {
    QFX_TRY(dropped, composer.callChild(dropout, {part}));
    Node *sum = composer.function("torch.add", {x, dropped});
    return isFirst ? llvm::Expected<Node *>(sum) : composer.callChild(norm, {sum});
  }
  /// What attention hears: the first of (output, weights).
  llvm::Expected<Node *> attend(llvm::StringRef child, Node *from, Node *to, Argument mask, Argument padding) {
    QFX_TRY(pair, composer.callChild(child, {from, to, to},
                                     {{"attn_mask", std::move(mask)},
                                      {"key_padding_mask", std::move(padding)},
                                      {"need_weights", Argument(false)}}));
    return composer.item(pair, 0);
  }
  /// linear2(dropout(activation(linear1(x)))).  Rule `<op>_activation`.
  llvm::Expected<Node *> feedForward(Node *x) {
    ValueType value = composer.context.getValue("activation");
    const Argument *name = value.getHost();
    if (!name || !name->isString() || (name->getString() != "relu" && name->getString() != "gelu"))
      return composer.context.fail("activation", "wants the activation 'relu' or 'gelu'");
    QFX_TRY(wide, composer.callChild("linear1", {x}));
    Node *active = composer.function("torch.nn.functional." + name->getString(), {wide});
    QFX_TRY(dropped, composer.callChild("dropout", {active}));
    return composer.callChild("linear2", {dropped});
  }

private:
  Composer &composer;
};

} // namespace

/// Rule `<op>_causal`: PyTorch takes is_causal for a hint about a mask that must be given too.
static llvm::Error checkCausal(Composer &composer, llvm::StringRef flag, llvm::StringRef mask) {
  if (!composer.context.hasValue(flag) || composer.context.hasValue(mask))
    return llvm::Error::success();
  QFX_TRY(causal, composer.context.getBool(flag));
  if (causal)
    return composer.context.fail("causal", "wants '{0}' together with {1}=True", mask, flag);
  return llvm::Error::success();
}

/// Self attention and a feed-forward part (Vaswani et al. 2017), norms in front or behind.
/// Source: torch/nn/modules/transformer.py, TransformerEncoderLayer.
llvm::Expected<Argument> composeTransformerEncoderLayer(Composer &composer) {
  Layer layer(composer);
  QFX_TRY(src, composer.input("src"));
  QFX_TRY(isFirst, composer.context.getBool("norm_first"));
  if (llvm::Error err = checkCausal(composer, "is_causal", "src_mask"))
    return err;
  QFX_TRY(mask, layer.optional("src_mask"));
  QFX_TRY(padding, layer.optional("src_key_padding_mask"));
  QFX_TRY(query, layer.before(isFirst, "norm1", src.node));
  QFX_TRY(heard, layer.attend("self_attn", query, query, mask, padding));
  QFX_TRY(x, layer.join(isFirst, "norm1", "dropout1", src.node, heard));
  QFX_TRY(narrow, layer.before(isFirst, "norm2", x));
  QFX_TRY(fed, layer.feedForward(narrow));
  QFX_TRY(y, layer.join(isFirst, "norm2", "dropout2", x, fed));
  return Argument(y);
}

/// The same with attention over a memory in between.
llvm::Expected<Argument> composeTransformerDecoderLayer(Composer &composer) {
  Layer layer(composer);
  QFX_TRY(tgt, composer.input("tgt"));
  QFX_TRY(memory, composer.input("memory"));
  QFX_TRY(isFirst, composer.context.getBool("norm_first"));
  for (const char *what : {"tgt", "memory"})
    if (llvm::Error err = checkCausal(composer, std::string(what) + "_is_causal", std::string(what) + "_mask"))
      return err;
  QFX_TRY(mask, layer.optional("tgt_mask"));
  QFX_TRY(padding, layer.optional("tgt_key_padding_mask"));
  QFX_TRY(memoryMask, layer.optional("memory_mask"));
  QFX_TRY(memoryPadding, layer.optional("memory_key_padding_mask"));
  QFX_TRY(query, layer.before(isFirst, "norm1", tgt.node));
  QFX_TRY(own, layer.attend("self_attn", query, query, mask, padding));
  QFX_TRY(x, layer.join(isFirst, "norm1", "dropout1", tgt.node, own));
  QFX_TRY(second, layer.before(isFirst, "norm2", x));
  QFX_TRY(other, layer.attend("multihead_attn", second, memory.node, memoryMask, memoryPadding));
  QFX_TRY(y, layer.join(isFirst, "norm2", "dropout2", x, other));
  QFX_TRY(narrow, layer.before(isFirst, "norm3", y));
  QFX_TRY(fed, layer.feedForward(narrow));
  QFX_TRY(z, layer.join(isFirst, "norm3", "dropout3", y, fed));
  return Argument(z);
}

/// `num_layers` layers below `layers`, then `norm` if the module has one.
static llvm::Expected<Argument> composeStack(Composer &composer, Node *x, std::vector<Argument> more,
                                             const Kwargs &kwargs) {
  QFX_TRY(count, composer.context.getInt("num_layers"));
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Argument> args{x};
    args.insert(args.end(), more.begin(), more.end());
    QFX_TRY(next, composer.callChild("layers." + std::to_string(i), std::move(args), kwargs));
    x = next;
  }
  if (composer.context.getCall().module->findChild("norm")) {
    QFX_TRY(normed, composer.callChild("norm", {x}));
    x = normed;
  }
  return Argument(x);
}

llvm::Expected<Argument> composeTransformerEncoder(Composer &composer) {
  Layer layer(composer);
  QFX_TRY(src, composer.input("src"));
  if (llvm::Error err = checkCausal(composer, "is_causal", "mask"))
    return err;
  QFX_TRY(mask, layer.optional("mask"));
  QFX_TRY(padding, layer.optional("src_key_padding_mask"));
  return composeStack(composer, src.node, {}, {{"src_mask", mask}, {"src_key_padding_mask", padding}});
}

llvm::Expected<Argument> composeTransformerDecoder(Composer &composer) {
  Layer layer(composer);
  QFX_TRY(tgt, composer.input("tgt"));
  QFX_TRY(memory, composer.input("memory"));
  Kwargs masks;
  for (const char *what : {"tgt", "memory"})
    if (llvm::Error err = checkCausal(composer, std::string(what) + "_is_causal", std::string(what) + "_mask"))
      return err;
  for (const char *slot : {"tgt_mask", "memory_mask", "tgt_key_padding_mask", "memory_key_padding_mask"}) {
    QFX_TRY(mask, layer.optional(slot));
    masks.push_back({slot, mask});
  }
  return composeStack(composer, tgt.node, {memory.node}, masks);
}

/// decoder(tgt, encoder(src)).
llvm::Expected<Argument> composeTransformer(Composer &composer) {
  Layer layer(composer);
  QFX_TRY(src, composer.input("src"));
  QFX_TRY(tgt, composer.input("tgt"));
  for (const char *what : {"src", "tgt", "memory"})
    if (llvm::Error err = checkCausal(composer, std::string(what) + "_is_causal", std::string(what) + "_mask"))
      return err;
  QFX_TRY(srcMask, layer.optional("src_mask"));
  QFX_TRY(srcPadding, layer.optional("src_key_padding_mask"));
  QFX_TRY(memory, composer.callChild("encoder", {src.node}, {{"mask", srcMask}, {"src_key_padding_mask", srcPadding}}));
  Kwargs masks;
  for (const char *slot : {"tgt_mask", "memory_mask", "tgt_key_padding_mask", "memory_key_padding_mask"}) {
    QFX_TRY(mask, layer.optional(slot));
    masks.push_back({slot, mask});
  }
  QFX_TRY(y, composer.callChild("decoder", {tgt.node, memory}, std::move(masks)));
  return Argument(y);
}

} // namespace qfx
