// Quantizable and quantized multi-head attention: projections on codes, the attention itself in float (operators 20.2).
#include "backends/reference/Decomposition.h"
#include "backends/runtime/Kernels.h"

#include <algorithm>
#include <cmath>

namespace qfx::runtime {

namespace {

struct AttentionShape {
  int64_t embedding, heads, target, source, batch;
  bool isBatchFirst, addsBias, addsZero, needsWeights, averages;
  bool hasMask, hasFloatMask, hasPadding;
  size_t maskRank;
};

/// Inputs in order: query, key, value, then those of bias_k, bias_v, a zero row, attn_mask, key_padding_mask that the
/// call has.
class AttentionGraph {
public:
  AttentionGraph(Decomposition &parts, const AttentionShape &shape) : parts(parts), shape(shape) {}

  void build() {
    Node *query = parts.input("query"), *key = parts.input("key"), *value = parts.input("value");
    Node *biasK = shape.addsBias ? parts.input("bias_k") : nullptr,
         *biasV = shape.addsBias ? parts.input("bias_v") : nullptr;
    Node *zeros = shape.addsZero ? parts.input("zeros") : nullptr;
    Node *mask = shape.hasMask ? parts.input("attn_mask") : nullptr;
    Node *padding = shape.hasPadding ? parts.input("key_padding_mask") : nullptr;
    if (shape.isBatchFirst)
      for (Node **tensor : {&query, &key, &value})
        *tensor = swap(*tensor, 0, 1);
    Node *q = parts.callChild("linear_Q", query), *k = parts.callChild("linear_K", key),
         *v = parts.callChild("linear_V", value);
    const double scaling = 1 / std::sqrt(static_cast<double>(shape.embedding / shape.heads));
    q = parts.callFunction(parts.isQuantized() ? "torch.ops.quantized.mul_scalar" : "torch.mul",
                           {Argument(q), Argument(scaling)});
    if (shape.addsBias) {
      k = cat(k, repeat(biasK), 0);
      v = cat(v, repeat(biasV), 0);
    }
    q = toHeads(q, shape.target);
    k = toHeads(k, shape.source + shape.addsBias);
    v = toHeads(v, shape.source + shape.addsBias);
    q = parts.callChild("dequant_q", q);
    k = parts.callChild("dequant_k", k);
    v = parts.callChild("dequant_v", v);
    if (shape.addsZero) { // a code of value zero and a float zero are one once dequantized
      k = cat(k, zeros, 1);
      v = cat(v, zeros, 1);
    }
    Node *weights = parts.callFunction("torch.bmm", {Argument(q), Argument(swap(k, 1, 2))});
    if (mask)
      weights = applyMask(weights, mask);
    if (padding)
      weights = applyPadding(weights, padding);
    weights = parts.callFunction("torch.nn.functional.softmax", {Argument(weights)}, {{"dim", Argument(int64_t(-1))}});
    Node *output = parts.callFunction("torch.bmm", {Argument(weights), Argument(v)});
    output = reshape(swap(output, 0, 1), {shape.target, shape.batch, shape.embedding});
    output = parts.callChild("quant_attn_output", output);
    output = parts.callChild("out_proj", output);
    if (shape.isBatchFirst)
      output = swap(output, 0, 1);
    if (shape.needsWeights || !parts.isQuantized()) // their observer sees them even if nobody asks for them
      weights = parts.callChild("quant_attn_output_weights", weights);
    Argument second;
    if (shape.needsWeights) {
      weights = reshape(weights, {shape.batch, shape.heads, shape.target, getColumns()});
      if (shape.averages)
        weights = parts.callMethod("mean", {Argument(weights), Argument(int64_t(1))});
      second = Argument(weights);
    }
    parts.getGraph().output(Argument::tuple({Argument(output), second}));
  }

private:
  int64_t getColumns() const { return shape.source + shape.addsBias + shape.addsZero; }

  Node *swap(Node *x, int64_t a, int64_t b) {
    return parts.callFunction("torch.transpose", {Argument(x), Argument(a), Argument(b)});
  }
  Node *reshape(Node *x, llvm::ArrayRef<int64_t> sizes) {
    return parts.callMethod("reshape", {Argument(x), Argument::ints(sizes)});
  }
  Node *cat(Node *a, Node *b, int64_t dim) {
    return parts.callFunction("torch.cat", {Argument::list({Argument(a), Argument(b)}), Argument(dim)});
  }
  /// [1, 1, E] -> [1, N, E].
  Node *repeat(Node *bias) {
    return parts.callMethod("expand",
                            {Argument(bias), Argument(int64_t(1)), Argument(shape.batch), Argument(shape.embedding)});
  }
  /// [len, N, E] -> [N * heads, len, d].
  Node *toHeads(Node *x, int64_t length) {
    return swap(reshape(x, {length, shape.batch * shape.heads, shape.embedding / shape.heads}), 0, 1);
  }
  /// The mask with columns that are never masked for bias and zero rows: false, or 0.
  Node *pad(Node *mask) {
    int64_t added = shape.addsBias + shape.addsZero;
    if (!added)
      return mask;
    return parts.callFunction("torch.nn.functional.pad", {Argument(mask), Argument::ints({0, added})});
  }
  Node *exclude(Node *weights, Node *mask) {
    return parts.callFunction("torch.masked_fill", {Argument(weights), Argument(mask), Argument(-HUGE_VAL)});
  }
  Node *applyMask(Node *weights, Node *mask) {
    if (shape.maskRank == 2)
      mask = parts.callFunction("torch.unsqueeze", {Argument(mask), Argument(int64_t(0))});
    mask = pad(mask);
    return shape.hasFloatMask ? parts.callFunction("torch.add", {Argument(weights), Argument(mask)})
                              : exclude(weights, mask);
  }
  Node *applyPadding(Node *weights, Node *padding) {
    padding = reshape(pad(padding), {shape.batch, 1, 1, getColumns()});
    weights = reshape(weights, {shape.batch, shape.heads, shape.target, getColumns()});
    return reshape(exclude(weights, padding), {shape.batch * shape.heads, shape.target, getColumns()});
  }

  Decomposition &parts;
  const AttentionShape &shape;
};

} // namespace

/// Masks are checked here, where all sizes are known.
static llvm::Error checkMasks(BindContext &context, const AttentionShape &shape, const View &mask,
                              const View &padding) {
  if (mask) {
    Sizes flat = {shape.target, shape.source}, perHead = {shape.batch * shape.heads, shape.target, shape.source};
    if (mask.sizes != flat && mask.sizes != perHead)
      return context.fail("attn_mask must be [{0}, {1}] or [{2}, {0}, {1}], got {3}", shape.target, shape.source,
                          shape.batch * shape.heads, toString(mask.type));
    if (mask.getDType() != DType::Bool && mask.getDType() != DType::Float32)
      return context.fail("attn_mask must be bool or float32, got {0}", toString(mask.type));
  }
  if (padding && (padding.sizes != Sizes({shape.batch, shape.source}) || padding.getDType() != DType::Bool))
    return context.fail("key_padding_mask must be bool [{0}, {1}], got {2}", shape.batch, shape.source,
                        toString(padding.type));
  return llvm::Error::success();
}

llvm::Expected<RuntimeValue> bindQuantizableAttention(BindContext &context) {
  std::vector<RuntimeValue> inputs;
  View views[3];
  for (int i = 0; i < 3; ++i) {
    llvm::Expected<View> view = context.getTensor(i == 0 ? "query" : i == 1 ? "key" : "value");
    if (!view)
      return view.takeError();
    views[i] = *view;
    inputs.push_back(*view);
  }
  llvm::Expected<View> mask = context.getOptionalTensor("attn_mask");
  if (!mask)
    return mask.takeError();
  llvm::Expected<View> padding = context.getOptionalTensor("key_padding_mask");
  if (!padding)
    return padding.takeError();
  auto embedding = context.attrs().getInt("embed_dim"), heads = context.attrs().getInt("num_heads");
  if (!embedding || !heads)
    return llvm::joinErrors(embedding.takeError(), heads.takeError());
  AttentionShape shape = {};
  for (auto [name, value] :
       {std::pair("batch_first", &shape.isBatchFirst), std::pair("add_zero_attn", &shape.addsZero),
        std::pair("need_weights", &shape.needsWeights), std::pair("average_attn_weights", &shape.averages)}) {
    llvm::Expected<bool> flag = context.attrs().getBool(name);
    if (!flag)
      return flag.takeError();
    *value = *flag;
  }
  shape.embedding = *embedding;
  shape.heads = *heads;
  shape.batch = views[0].sizes[shape.isBatchFirst ? 0 : 1];
  shape.target = views[0].sizes[shape.isBatchFirst ? 1 : 0];
  shape.source = views[1].sizes[shape.isBatchFirst ? 1 : 0];
  shape.addsBias = context.has("bias_k") && context.has("bias_v");
  shape.hasMask = static_cast<bool>(*mask);
  shape.maskRank = mask->getRank();
  shape.hasFloatMask = shape.hasMask && mask->getDType() == DType::Float32;
  shape.hasPadding = static_cast<bool>(*padding);
  if (llvm::Error err = checkMasks(context, shape, *mask, *padding))
    return err;
  if (llvm::Error err =
          requireChildren(context, {"linear_Q", "linear_K", "linear_V", "out_proj", "dequant_q", "dequant_k",
                                    "dequant_v", "quant_attn_output", "quant_attn_output_weights"}))
    return err;
  if (shape.addsBias)
    for (const char *name : {"bias_k", "bias_v"}) {
      llvm::Expected<View> bias = context.getTensor(name);
      if (!bias)
        return bias.takeError();
      inputs.push_back(*bias);
    }
  if (shape.addsZero) {
    int64_t sizes[] = {shape.batch * shape.heads, 1, shape.embedding / shape.heads};
    inputs.push_back(viewConstant(Tensor::build(
        DType::Float32, sizes, [](MutableBytes bytes) { std::fill(bytes.begin(), bytes.end(), std::byte()); })));
  }
  for (const View *view : {&*mask, &*padding})
    if (*view)
      inputs.push_back(*view);
  auto build = [&](Graph &graph) {
    Decomposition parts(graph, context.getNode(), *context.getCall().module, isQuantized(views[0].getDType()));
    AttentionGraph(parts, shape).build();
  };
  std::string tag = llvm::formatv("{0} {1} {2}", shape.batch, shape.target, shape.source).str();
  return bindDecomposition(context, tag, build, inputs);
}

} // namespace qfx::runtime
