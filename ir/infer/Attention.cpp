// Rules of attention.
#include "ir/InferDetail.h"

namespace qfx {

/// Query [..., L, E], key [..., S, E], value [..., S, Ev] -> [..., L, Ev].  Rules `attention_rank`, `attention_dtype`, `attention_shape`,
/// `attention_mask` (bool or the query's dtype, broadcasting to [..., L, S]; not together with is_causal), `attention_dropout`.
llvm::Expected<ValueType> inferAttention(const InferContext &context) {
  QFX_TRY(query, context.getTensor("query"));
  QFX_TRY(key, context.getTensor("key"));
  QFX_TRY(value, context.getTensor("value"));
  for (const TensorType *one : {&query, &key, &value}) {
    if (llvm::Error err = checkNotQuantized(context, *one, "query, key and value"))
      return err;
    if (one->getRank() < 2)
      return context.fail("rank", "wants tensors of rank >= 2, got {0}", toString(*one));
    if (one->dtype != query.dtype || !isFloat(one->dtype))
      return context.fail("dtype", "wants floating-point tensors of one dtype, got {0} and {1}", toString(query),
                          toString(*one));
  }
  QFX_TRY(dropout, context.getNumber("dropout_p"));
  if (dropout != 0)
    return context.fail("dropout", "runs with dropout_p=0 only, got {0}: it would be random", dropout);
  QFX_TRY(grouped, context.getBool("enable_gqa"));
  size_t rank = query.getRank();
  auto fails = [&] {
    return context.fail("shape", "cannot attend from {0} over keys {1} and values {2}", toString(query.shape),
                        toString(key.shape), toString(value.shape));
  };
  auto at = [](const TensorType &type, size_t fromEnd) -> const Dim & { return type.shape[type.getRank() - fromEnd]; };
  if (!at(query, 1).mayEqual(at(key, 1)) || !at(key, 2).mayEqual(at(value, 2)))
    return fails();
  TensorType result = query;
  llvm::ArrayRef<Dim> q = query.shape, k = key.shape, v = value.shape;
  if (grouped) {
    if (rank < 3 || key.getRank() != rank || value.getRank() != rank)
      return fails();
    for (const TensorType *one : {&key, &value}) {
      const Dim &heads = at(query, 3), &shared = at(*one, 3);
      if (heads.isStatic() && shared.isStatic() && (shared.getValue() == 0 || heads.getValue() % shared.getValue()))
        return fails();
    }
    result.shape.assign(q.begin(), q.end());
  } else {
    QFX_TRY(keys, broadcastShapes(context, q.drop_back(2), k.drop_back(2)));
    QFX_TRY(batch, broadcastShapes(context, keys, v.drop_back(2)));
    result.shape.assign(batch.begin(), batch.end());
    result.shape.push_back(at(query, 2));
    result.shape.push_back(at(query, 1));
  }
  result.shape.back() = at(value, 1);
  result.format = MemoryFormat::Contiguous;
  if (std::optional<TensorType> mask = context.getOptionalTensor("attn_mask")) {
    QFX_TRY(causal, context.getBool("is_causal"));
    if (causal)
      return context.fail("mask", "takes attn_mask or is_causal=True, not both");
    if (mask->dtype != DType::Bool && mask->dtype != query.dtype)
      return context.fail("mask", "wants a mask of bool or {0}, got {1}", getDTypeInfo(query.dtype).text, toString(*mask));
    Shape scores = result.shape;
    scores.back() = at(key, 2);
    QFX_TRY(both, broadcastShapes(context, scores, mask->shape));
    if (both.size() != scores.size())
      return context.fail("mask", "wants a mask that broadcasts to {0}, got {1}", toString(scores), toString(*mask));
  }
  return ValueType(result);
}

/// nn.MultiheadAttention: (output, averaged or per-head weights, or None).  Rules `multihead_attention_rank` (2 or 3, all alike),
/// `multihead_attention_shape`.
llvm::Expected<ValueType> inferMultihead(const InferContext &context) {
  QFX_TRY(query, context.getTensor("query"));
  QFX_TRY(key, context.getTensor("key"));
  QFX_TRY(value, context.getTensor("value"));
  size_t rank = query.getRank();
  for (const TensorType *one : {&query, &key, &value}) {
    if (llvm::Error err = checkNotQuantized(context, *one, "query, key and value"))
      return err;
    if (one->getRank() != rank || rank < 2 || rank > 3)
      return context.fail("rank", "wants query, key and value of rank 3, or 2 without batch, got {0}", toString(*one));
  }
  QFX_TRY(width, context.getInt("embed_dim"));
  QFX_TRY(heads, context.getInt("num_heads"));
  QFX_TRY(batchFirst, context.getBool("batch_first"));
  size_t time = rank == 3 && batchFirst ? 1 : 0, batch = 1 - time;
  auto fitsWeights = [&](const TensorType &type, llvm::StringRef slot) -> llvm::Expected<bool> {
    int64_t features = width;
    if (context.hasValue(slot)) {
      QFX_TRY(given, context.getInt(slot));
      features = given;
    }
    return type.shape.back().mayEqual(Dim(features));
  };
  QFX_TRY(keysFit, fitsWeights(key, "kdim"));
  QFX_TRY(valuesFit, fitsWeights(value, "vdim"));
  if (heads < 1 || width % heads != 0 || !query.shape.back().mayEqual(Dim(width)) || !keysFit || !valuesFit ||
      !key.shape[time].mayEqual(value.shape[time]) ||
      (rank == 3 && !(query.shape[batch].mayEqual(key.shape[batch]) && key.shape[batch].mayEqual(value.shape[batch]))))
    return context.fail("shape", "cannot attend with {0} features in {1} heads from {2} over keys {3} and values {4}",
                        width, heads, toString(query.shape), toString(key.shape), toString(value.shape));
  TensorType output = query;
  output.shape.back() = Dim(width);
  QFX_TRY(needWeights, context.getBool("need_weights"));
  if (!needWeights)
    return ValueType::sequence(Argument::Kind::Tuple, {ValueType(output), ValueType::host(Argument())});
  QFX_TRY(averages, context.getBool("average_attn_weights"));
  TensorType weights = query;
  weights.shape.clear();
  if (rank == 3)
    weights.shape.push_back(query.shape[batch]);
  if (!averages)
    weights.shape.push_back(Dim(heads));
  weights.shape.push_back(query.shape[time]);
  Dim sources = key.shape[time];
  for (llvm::StringRef slot : {"add_bias_kv", "add_zero_attn"}) {
    QFX_TRY(adds, context.getBool(slot));
    if (adds)
      sources = addDims(sources, Dim(1));
  }
  weights.shape.push_back(sources);
  return ValueType::sequence(Argument::Kind::Tuple, {ValueType(output), ValueType(weights)});
}

} // namespace qfx
