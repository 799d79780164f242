// Rules of decomposed LSTM and attention modules (operators 20): float, observed or quantized by what goes in.
#include "ir/Module.h"
#include "ir/infer/RecurrentDetail.h"

namespace qfx {

/// The output parameters that a quantized child keeps as attributes or buffers `scale` and `zero_point`.  Rule
/// `<op>_children`.
static llvm::Expected<QuantizerRef> getChildQuantizer(const InferContext &context, const std::string &path) {
  const Module *module = context.getCall().module;
  ModuleRef child = module ? module->findModule(path) : nullptr;
  if (!child)
    return context.fail("children", "wants a child '{0}'", path);
  double numbers[2] = {};
  const char *names[2] = {"scale", "zero_point"};
  for (int i = 0; i < 2; ++i) {
    const Argument *attribute = child->findAttribute(names[i]);
    const Tensor *tensor = child->findTensor(names[i]);
    if (attribute && attribute->isNumber())
      numbers[i] = attribute->getNumber();
    else if (tensor && tensor->getNumElements() == 1)
      numbers[i] = tensor->getElementAsDouble(0);
    else
      return context.fail("children", "wants a number '{0}' of the quantized child '{1}'", names[i], path);
  }
  auto quantizer = std::make_shared<Quantizer>(Quantizer::perTensor(numbers[0], static_cast<int64_t>(numbers[1])));
  if (llvm::Error err = quantizer->verify(DType::QUInt8, {}, context.getCall().loc))
    return err;
  return QuantizerRef(std::move(quantizer));
}

static ValueType makePair(TensorType first, ValueType second) {
  return ValueType::sequence(Argument::Kind::Tuple, {std::move(first), std::move(second)});
}

/// (output, (h, c)).  Quantized, the output has the parameters of the last layer's hidden state, h and c those of the
/// first layer's (torch.stack keeps its first operand's).  Rules as for recurrent layers, and `lstm_children`.
llvm::Expected<ValueType> inferDecomposedLstm(const InferContext &context) {
  QFX_TRY(types, inferRecurrentTypes(context, /*takesCodes=*/true));
  if (types.output.getRank() != 3)
    return context.fail("rank", "wants an input of rank 3, got {0}", toString(types.output));
  if (isQuantized(types.output.dtype)) {
    QFX_TRY(layers, context.getInt("num_layers"));
    auto path = [](int64_t layer, const char *child) {
      return "layers." + std::to_string(layer) + ".layer_fw.cell." + child;
    };
    QFX_TRY(output, getChildQuantizer(context, path(layers - 1, "ogate_cy")));
    QFX_TRY(hidden, getChildQuantizer(context, path(0, "ogate_cy")));
    QFX_TRY(cell, getChildQuantizer(context, path(0, "fgate_cx_igate_cgate")));
    types.output.quantizer = output;
    types.hidden.quantizer = hidden;
    types.cell.quantizer = cell;
  }
  if (context.hasValue("hx"))
    if (llvm::Error err = checkInitialStates(context, types.hidden, &types.cell))
      return err;
  return makePair(types.output, makePair(types.hidden, types.cell));
}

/// (h, c) of [N, F].  Rules `<op>_rank`, `<op>_dtype`, `<op>_features`, `<op>_hidden`, `<op>_children`.
llvm::Expected<ValueType> inferDecomposedLstmCell(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(features, context.getInt("input_dim"));
  QFX_TRY(size, context.getInt("hidden_dim"));
  if (!isFloat(input.dtype) && input.dtype != DType::QUInt8)
    return context.fail("dtype", "wants a floating-point or quint8 input, got {0}", toString(input));
  if (input.getRank() != 2)
    return context.fail("rank", "wants an input of rank 2, got {0}", toString(input));
  if (!input.shape[1].mayEqual(Dim(features)))
    return context.fail("features", "wants {0} input features, got {1}", features, toString(input));
  TensorType hidden = input;
  hidden.shape[1] = Dim(size);
  TensorType cell = hidden;
  if (isQuantized(input.dtype)) {
    QFX_TRY(hiddenQuantizer, getChildQuantizer(context, "ogate_cy"));
    QFX_TRY(cellQuantizer, getChildQuantizer(context, "fgate_cx_igate_cgate"));
    hidden.quantizer = hiddenQuantizer;
    cell.quantizer = cellQuantizer;
  }
  if (llvm::Error err = checkInitialStates(context, hidden, &cell))
    return err;
  return makePair(hidden, cell);
}

/// (output [L, N, E], weights [N, L, S], [N, heads, L, S] or None).  Rules `<op>_rank`, `<op>_embedding`,
/// `<op>_causal`,
/// `<op>_children`.
llvm::Expected<ValueType> inferQuantizableAttention(const InferContext &context) {
  QFX_TRY(query, context.getTensor("query"));
  QFX_TRY(key, context.getTensor("key"));
  QFX_TRY(embedding, context.getInt("embed_dim"));
  QFX_TRY(heads, context.getInt("num_heads"));
  QFX_TRY(isBatchFirst, context.getBool("batch_first"));
  QFX_TRY(addsZero, context.getBool("add_zero_attn"));
  QFX_TRY(isCausal, context.getBool("is_causal"));
  QFX_TRY(needsWeights, context.getBool("need_weights"));
  QFX_TRY(averages, context.getBool("average_attn_weights"));
  if (query.getRank() != 3 || key.getRank() != 3)
    return context.fail("rank", "wants query and key of rank 3, got {0} and {1}", toString(query), toString(key));
  if (!query.shape[2].mayEqual(Dim(embedding)) || heads < 1 || embedding % heads != 0)
    return context.fail("embedding", "wants {0} query features, a multiple of {1} heads, got {2}", embedding, heads,
                        toString(query));
  if (isCausal)
    return context.fail("causal", "takes no is_causal; give a mask as attn_mask");
  TensorType output = query, weights = query;
  const Dim &batch = query.shape[isBatchFirst ? 0 : 1], &target = query.shape[isBatchFirst ? 1 : 0];
  Dim source = key.shape[isBatchFirst ? 1 : 0];
  if (context.hasValue("bias_k"))
    source = addDims(source, Dim(1));
  if (addsZero)
    source = addDims(source, Dim(1));
  output.shape[2] = Dim(embedding);
  weights.shape = {batch, target, source};
  if (!averages)
    weights.shape.insert(weights.shape.begin() + 1, Dim(heads));
  if (isQuantized(query.dtype)) {
    QFX_TRY(outputQuantizer, getChildQuantizer(context, "out_proj"));
    QFX_TRY(weightsQuantizer, getChildQuantizer(context, "quant_attn_output_weights"));
    output.quantizer = outputQuantizer;
    weights.quantizer = weightsQuantizer;
  }
  if (!needsWeights)
    return makePair(output, ValueType::host(Argument()));
  return makePair(output, weights);
}

} // namespace qfx
