// Rules of recurrent layers and cells (operators 11.4).
#include "ir/InferDetail.h"

namespace qfx {

namespace {
/// What a recurrent layer yields: outputs of all time steps and the last states.
struct RecurrentTypes {
  TensorType output, hidden, cell;
};
} // namespace

/// Input [T, N, F], [N, T, F] with batch_first, or [T, F] without batch.  Rules `<op>_rank`, `<op>_dtype` (float), `<op>_features`.
static llvm::Expected<RecurrentTypes> inferLayer(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  if (!isFloat(input.dtype))
    return context.fail("dtype", "wants a floating-point input, got {0}", toString(input));
  size_t rank = input.getRank();
  if (rank != 2 && rank != 3)
    return context.fail("rank", "wants an input of rank 3, or 2 without batch, got {0}", toString(input));
  QFX_TRY(features, context.getInt("input_size"));
  QFX_TRY(hidden, context.getInt("hidden_size"));
  QFX_TRY(layers, context.getInt("num_layers"));
  QFX_TRY(projection, context.getInt("proj_size"));
  QFX_TRY(isBatchFirst, context.getBool("batch_first"));
  QFX_TRY(isBidirectional, context.getBool("bidirectional"));
  if (!input.shape.back().mayEqual(Dim(features)))
    return context.fail("features", "wants {0} input features, got {1}", features, toString(input));
  Dim directions(isBidirectional ? 2 : 1), width(projection ? projection : hidden);
  Dim count = multiplyDims(directions, Dim(layers));
  RecurrentTypes types;
  types.output = input;
  types.output.shape.back() = multiplyDims(width, directions);
  types.hidden = input;
  types.hidden.shape = {count};
  if (rank == 3)
    types.hidden.shape.push_back(input.shape[isBatchFirst ? 0 : 1]);
  types.cell = types.hidden;
  types.hidden.shape.push_back(width);
  types.cell.shape.push_back(Dim(hidden));
  return types;
}

static ValueType makeTuple(std::vector<ValueType> elements) {
  return ValueType::sequence(Argument::Kind::Tuple, std::move(elements));
}

/// (output, (h, c)).
llvm::Expected<ValueType> inferLstm(const InferContext &context) {
  QFX_TRY(types, inferLayer(context));
  return makeTuple({types.output, makeTuple({types.hidden, types.cell})});
}

/// (output, h).
llvm::Expected<ValueType> inferGru(const InferContext &context) {
  QFX_TRY(types, inferLayer(context));
  return makeTuple({types.output, types.hidden});
}

/// Input [N, F] or [F] -> state [N, H] or [H].  Rules as for layers.
static llvm::Expected<TensorType> inferState(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(weight, context.getTensor("weight_hh"));
  QFX_TRY(inputWeight, context.getTensor("weight_ih"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  if (!isFloat(input.dtype))
    return context.fail("dtype", "wants a floating-point input, got {0}", toString(input));
  if (input.getRank() != 1 && input.getRank() != 2)
    return context.fail("rank", "wants an input of rank 2, or 1 without batch, got {0}", toString(input));
  if (weight.getRank() != 2 || inputWeight.getRank() != 2)
    return context.fail("rank", "wants weights of rank 2, got {0} and {1}", toString(inputWeight), toString(weight));
  if (!input.shape.back().mayEqual(inputWeight.shape[1]))
    return context.fail("features", "wants {0} input features, got {1}", inputWeight.shape[1], toString(input));
  TensorType result = input;
  result.shape.back() = weight.shape[1];
  return result;
}

llvm::Expected<ValueType> inferCell(const InferContext &context) {
  QFX_TRY(state, inferState(context));
  return ValueType(state);
}

/// (h, c).
llvm::Expected<ValueType> inferLstmCell(const InferContext &context) {
  QFX_TRY(state, inferState(context));
  return makeTuple({state, state});
}

} // namespace qfx
