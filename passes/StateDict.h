// A model's state under the keys of PyTorch's state dict, packed parameters included.
#ifndef PASSES_STATEDICT_H
#define PASSES_STATEDICT_H

#include "ir/GraphModule.h"
#include "ir/weights/Safetensors.h"

#include "llvm/Support/Error.h"

namespace qfx {

/// What `torch.nn.Module.state_dict()` of the same model holds, in its order of modules.  Values that are no tensors there:
///   * a quantized linear layer's `<path>._packed_params._packed_params`, a tuple of weight and bias, is `<key>.0` and `<key>.1`;
///     an embedding's is `<path>._packed_params._packed_weight`
///   * the packed object of a dynamic LSTM's or GRU's layer and direction, `<path>._all_weight_values.<k>.param`, is `<key>.0` to `<key>.3`: w_ih,
///     w_hh, b_ih, b_hh; those of a dynamic cell, `<path>._packed_weight_ih` and `_hh`, are `<key>.0` (weight) and `<key>.1` (bias)
///   * a packed object of a graph (QuantizedGraphModule, workflow 6.7), `_packed_weight_<i>`, is `<key>.0` (weight), `<key>.1` (bias, if
///     there is one) and for convolutions `<key>.config`, the int16 numbers of operators 5.4
///   * `scale` and `zero_point` of quantized modules, numbers in PyTorch, are float32 and int64 tensors without dimensions, as its
///     state dict has them; `_packed_params.dtype` is in `metadata`, and so are `weight_qscheme` and `weight_dtype` of reference modules
struct StateDict {
  NamedTensors tensors;
  StringPairs metadata; ///< `<path>._packed_params.dtype` = "qint8"

  const Tensor *find(llvm::StringRef key) const;
};

/// The state of every module that the tree holds; a module under several paths gives its entries under each, as PyTorch does.
StateDict getStateDict(const GraphModule &model);

/// load_state_dict(strict=True): every entry must belong to the model and every tensor of the model must be there (`state_dict_keys`,
/// all missing and unexpected keys in one message), with the model's dtype and shape (`state_dict_tensor`).  Keys that contain
/// `_packed_weight_` are accepted at any depth (upstream at the root only).  The model is changed only if all is well.
/// Keys of older versions are read as well: `weight` or `_packed_params.weight` of a quantized linear layer, `gamma`, `beta`, `running_*` of a
/// ConvBn module of quantization-aware training.  A reference module takes scheme, dtype and axis of the state with its scales.
/// QFX: scale and zero_point of activation modules (Hardswish, ELU, ...) and the slope of PReLU, which upstream does not save, may be missing.
llvm::Error loadStateDict(GraphModule &model, const StateDict &state);

/// As a safetensors file, and back; `qfx_export.save_state_dict` writes the same from PyTorch.
llvm::Error saveStateDictFile(const GraphModule &model, llvm::StringRef path);
llvm::Expected<StateDict> loadStateDictFile(llvm::StringRef path);

} // namespace qfx

#endif // PASSES_STATEDICT_H
