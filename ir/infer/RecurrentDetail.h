// Types of recurrent layers, shared by the float, dynamic and decomposed ones.
#ifndef IR_INFER_RECURRENTDETAIL_H
#define IR_INFER_RECURRENTDETAIL_H

#include "ir/InferDetail.h"

namespace qfx {

/// What a recurrent layer yields: outputs of all time steps and the last states.
struct RecurrentTypes {
  TensorType output, hidden, cell;
};

/// Of a call with the slots of QFX_RNN_OP.  Input [T, N, F], [N, T, F] with batch_first, or [T, F] without batch. Rules
/// `<op>_rank`,
/// `<op>_dtype` (float, or also quint8 where `takesCodes`), `<op>_features`, `<op>_length` (at least one time step).
llvm::Expected<RecurrentTypes> inferRecurrentTypes(const InferContext &context, bool takesCodes);

/// The state `hx`, or with `cell` the pair (h, c); None is zeros.  Rule `<op>_hidden`: shape and dtype as those of the
/// last states.
llvm::Error checkInitialStates(const InferContext &context, const TensorType &hidden, const TensorType *cell);

/// Types of a decomposed LSTM and its cell, whose children hold weights and output parameters.
llvm::Expected<ValueType> inferDecomposedLstm(const InferContext &context);
llvm::Expected<ValueType> inferDecomposedLstmCell(const InferContext &context);

/// A PackedSequence as qfx has it: rows of different length behind each other in time, zeros where a row has ended.
struct PackedSequenceType {
  TensorType data;    ///< [T, N, ...]
  TensorType lengths; ///< i64 [N]
};
/// The types of such a value, {"data": ..., "lengths": ...}, if it is one.
std::optional<PackedSequenceType> getPackedSequence(const ValueType &value);
ValueType makePackedSequence(const PackedSequenceType &type);

} // namespace qfx

#endif // IR_INFER_RECURRENTDETAIL_H
