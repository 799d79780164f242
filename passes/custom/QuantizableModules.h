// Float LSTM and attention modules taken apart into pieces that can be observed and quantized (operators 20).
#ifndef PASSES_CUSTOM_QUANTIZABLEMODULES_H
#define PASSES_CUSTOM_QUANTIZABLEMODULES_H

#include "ir/Module.h"

#include "llvm/Support/Error.h"

namespace qfx {

/// quantizable.LSTM.from_float without its prepare: `layers.<k>.layer_fw.cell` (and `layer_bw`) with the linear layers
/// `igates` and `hgates`, the gates' activations and a FloatFunctional for every sum and product; weights are shared,
/// layer sizes follow from them. \param lstm        torch.nn.LSTM. \param splitGates  a linear layer for each gate.
/// Errors: a projection (`quantizable_projection`), a weight that is missing (`quantizable_weight`).
llvm::Expected<ModuleRef> makeQuantizableLstm(const Module &lstm, bool splitGates = false);

/// quantizable.LSTMCell.from_float likewise, of a torch.nn.LSTMCell.
llvm::Expected<ModuleRef> makeQuantizableLstmCell(const Module &cell, bool splitGates = false);

/// quantizable.MultiheadAttention.from_float without its prepare: `linear_Q`, `linear_K`, `linear_V` with their rows of
/// in_proj_weight and in_proj_bias, `out_proj`, stubs where codes end and begin; batch_first is kept (upstream 1.13
/// dropped it). \param attention  torch.nn.MultiheadAttention.  Errors: `quantizable_weight`.
llvm::Expected<ModuleRef> makeQuantizableAttention(const Module &attention);

} // namespace qfx

#endif // PASSES_CUSTOM_QUANTIZABLEMODULES_H
