// Rules of recurrent layers and cells (operators 11.4).
#include "ir/infer/RecurrentDetail.h"
#include "ir/OpKind.h"
#include "ir/Module.h"

namespace qfx {

namespace {
/// Sizes that a module has as attributes and an ATen call in its weights.
struct RecurrentSizes {
  int64_t features = 0, hidden = 0, projection = 0;
};
} // namespace

/// Gates per hidden unit (operators 11.4).
static int64_t getNumGates(OpKind kind) {
  switch (kind) {
  case OpKind::Lstm:
  case OpKind::DynamicLstm:
  case OpKind::ReferenceLstm:
    return 4;
  case OpKind::Gru:
  case OpKind::DynamicGru:
  case OpKind::ReferenceGru:
    return 3;
  default:
    return 1;
  }
}

/// The matrices ih and hh of the first layer: tensors of a flat list, or packed in the first cell parameters.
static std::pair<const TensorType *, const TensorType *> getFirstWeights(const ValueType &params) {
  const ValueType::Sequence *list = params.getSequence();
  if (!list || list->elements.empty())
    return {};
  if (const ValueType::Sequence *cell = list->elements[0].getSequence()) {
    const PackedWeights *input = cell->elements.size() == 3 ? cell->elements[0].getPacked() : nullptr;
    const PackedWeights *hidden = input ? cell->elements[1].getPacked() : nullptr;
    return hidden ? std::pair(&input->weight, &hidden->weight) : std::pair<const TensorType *, const TensorType *>();
  }
  return {list->elements[0].getTensor(), list->elements.size() > 1 ? list->elements[1].getTensor() : nullptr};
}

/// Of the attributes, or of the first two weights in `params`: [G*H, F] and [G*H, H or projection].  Rule `<op>_params`.
static llvm::Expected<RecurrentSizes> getSizes(const InferContext &context) {
  RecurrentSizes sizes;
  if (!context.getCall().find("params") || !context.hasValue("params")) {
    QFX_TRY(features, context.getInt("input_size"));
    QFX_TRY(hidden, context.getInt("hidden_size"));
    QFX_TRY(projection, context.getInt("proj_size"));
    return RecurrentSizes{features, hidden, projection};
  }
  ValueType params = context.getValue("params");
  auto [input, hidden] = getFirstWeights(params);
  int64_t gates = getNumGates(context.getCall().op->kind);
  if (!input || !hidden || input->getRank() != 2 || hidden->getRank() != 2 || !input->isStatic() || !hidden->isStatic() ||
      input->shape[0].getValue() % gates != 0)
    return context.fail("params", "wants a list of weight matrices of known shape, {0} gates high", gates);
  sizes.features = input->shape[1].getValue();
  sizes.hidden = input->shape[0].getValue() / gates;
  int64_t width = hidden->shape[1].getValue();
  sizes.projection = width == sizes.hidden ? 0 : width;
  return sizes;
}

/// Rule `<op>_hidden`: an initial state has the type of the last one.
static llvm::Error checkState(const InferContext &context, const ValueType &value, const TensorType &wanted,
                              llvm::StringRef label) {
  const TensorType *given = value.getTensor();
  if (value.isUnknown())
    return llvm::Error::success();
  bool fits = given && given->dtype == wanted.dtype && given->getRank() == wanted.getRank();
  for (size_t i = 0; fits && i < wanted.getRank(); ++i)
    fits = given->shape[i].mayEqual(wanted.shape[i]);
  if (fits)
    return llvm::Error::success();
  return context.fail("hidden", "wants {0} of type {1}, got {2}", label, toString(wanted),
                      given ? toString(*given) : std::string("no tensor"));
}

llvm::Error checkInitialStates(const InferContext &context, const TensorType &hidden, const TensorType *cell) {
  if (!context.hasValue("hx"))
    return llvm::Error::success();
  ValueType given = context.getValue("hx");
  if (!cell)
    return checkState(context, given, hidden, "a hidden state");
  if (given.isUnknown())
    return llvm::Error::success();
  const ValueType::Sequence *pair = given.getSequence();
  if (!pair || pair->elements.size() != 2)
    return context.fail("hidden", "wants its initial states as a pair (h, c)");
  if (llvm::Error err = checkState(context, pair->elements[0], hidden, "hidden[0]"))
    return err;
  return checkState(context, pair->elements[1], *cell, "hidden[1]");
}

llvm::Expected<RecurrentTypes> inferRecurrentTypes(const InferContext &context, bool takesCodes) {
  std::optional<PackedSequenceType> packed = getPackedSequence(context.getValue("input"));
  TensorType input;
  if (packed) {
    input = packed->data;
  } else {
    QFX_TRY(given, context.getTensor("input"));
    input = given;
  }
  if (!takesCodes)
    if (llvm::Error err = checkNotQuantized(context, input, "input"))
      return err;
  if (!isFloat(input.dtype) && !(takesCodes && input.dtype == DType::QUInt8))
    return context.fail("dtype", "wants a floating-point input, got {0}", toString(input));
  size_t rank = input.getRank();
  if (rank != 2 && rank != 3)
    return context.fail("rank", "wants an input of rank 3, or 2 without batch, got {0}", toString(input));
  QFX_TRY(sizes, getSizes(context));
  if (sizes.projection < 0 || (sizes.projection && sizes.projection >= sizes.hidden))
    return context.fail("projection", "wants proj_size in 0..{0}, below hidden_size, got {1}", sizes.hidden - 1, sizes.projection);
  QFX_TRY(layers, context.getInt("num_layers"));
  QFX_TRY(givenBatchFirst, context.getBool("batch_first"));
  const bool isBatchFirst = givenBatchFirst && !packed; // packed rows stand behind each other in time, whatever the layer says
  if (packed && rank != 3)
    return context.fail("rank", "wants packed rows of rank 3, got {0}", toString(input));
  QFX_TRY(isBidirectional, context.getBool("bidirectional"));
  if (!input.shape.back().mayEqual(Dim(sizes.features)))
    return context.fail("features", "wants {0} input features, got {1}", sizes.features, toString(input));
  const Dim &length = input.shape[rank == 3 && isBatchFirst ? 1 : 0];
  if (length.isStatic() && length.getValue() == 0)
    return context.fail("length", "wants at least one time step, got {0}", toString(input));
  Dim directions(isBidirectional ? 2 : 1), width(sizes.projection ? sizes.projection : sizes.hidden);
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
  types.cell.shape.push_back(Dim(sizes.hidden));
  return types;
}

static ValueType makeTuple(std::vector<ValueType> elements) {
  return ValueType::sequence(Argument::Kind::Tuple, std::move(elements));
}

/// The output, packed as the input is.
static ValueType getOutput(const InferContext &context, const RecurrentTypes &types) {
  if (std::optional<PackedSequenceType> packed = getPackedSequence(context.getValue("input")))
    return makePackedSequence({types.output, packed->lengths});
  return types.output;
}

/// Is the called module one of these classes, whose children do the work?
static bool isDecomposed(const InferContext &context, llvm::StringRef observed, llvm::StringRef quantized) {
  const Module *module = context.getCall().module;
  return module && (module->getClassName() == observed || module->getClassName() == quantized);
}

/// (output, (h, c)), or (output, h, c) of the ATen spelling.
llvm::Expected<ValueType> inferLstm(const InferContext &context) {
  if (isDecomposed(context, "torch.ao.nn.quantizable.LSTM", "torch.ao.nn.quantized.LSTM"))
    return inferDecomposedLstm(context);
  QFX_TRY(types, inferRecurrentTypes(context, /*takesCodes=*/false));
  if (llvm::Error err = checkInitialStates(context, types.hidden, &types.cell))
    return err;
  if (context.getCall().find("flat")) {
    QFX_TRY(isFlat, context.getBool("flat"));
    if (isFlat)
      return makeTuple({getOutput(context, types), types.hidden, types.cell});
  }
  return makeTuple({getOutput(context, types), makeTuple({types.hidden, types.cell})});
}

/// (output, h).
llvm::Expected<ValueType> inferGru(const InferContext &context) {
  QFX_TRY(types, inferRecurrentTypes(context, /*takesCodes=*/false));
  if (llvm::Error err = checkInitialStates(context, types.hidden, nullptr))
    return err;
  return makeTuple({getOutput(context, types), types.hidden});
}

/// (packed ih, packed hh, reduce_range).  Rule `cell_params_packed`.
llvm::Expected<ValueType> inferCellParams(const InferContext &context) {
  QFX_TRY(reducesRange, context.getBool("reduce_range"));
  std::vector<ValueType> parts;
  for (const char *slot : {"packed_ih", "packed_hh"}) {
    parts.push_back(context.getValue(slot));
    if (!parts.back().getPacked() || parts.back().getPacked()->weight.getRank() != 2)
      return context.fail("packed", "wants weights packed for a linear layer in '{0}'", slot);
  }
  parts.push_back(ValueType::host(Argument(reducesRange)));
  return makeTuple(std::move(parts));
}

/// A weight given as a tensor, or packed.
static llvm::Expected<TensorType> getWeightType(const InferContext &context, llvm::StringRef suffix) {
  std::string packed = ("packed_" + suffix).str();
  if (context.getCall().find(packed) && context.hasValue(packed)) {
    ValueType value = context.getValue(packed);
    if (const PackedWeights *weights = value.getPacked())
      return weights->weight;
    return context.fail("packed", "wants packed weights for '{0}'", packed);
  }
  return context.getTensor(("weight_" + suffix).str());
}

/// Input [N, F] or [F] -> state [N, H] or [H].  Rules as for layers.
static llvm::Expected<TensorType> inferState(const InferContext &context, bool hasCell) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(weight, getWeightType(context, "hh"));
  QFX_TRY(inputWeight, getWeightType(context, "ih"));
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
  if (llvm::Error err = checkInitialStates(context, result, hasCell ? &result : nullptr))
    return err;
  return result;
}

llvm::Expected<ValueType> inferCell(const InferContext &context) {
  QFX_TRY(state, inferState(context, /*hasCell=*/false));
  return ValueType(state);
}

/// (h, c).
llvm::Expected<ValueType> inferLstmCell(const InferContext &context) {
  if (isDecomposed(context, "torch.ao.nn.quantizable.LSTMCell", ""))
    return inferDecomposedLstmCell(context);
  QFX_TRY(state, inferState(context, /*hasCell=*/true));
  return makeTuple({state, state});
}

} // namespace qfx
