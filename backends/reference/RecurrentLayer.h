// Recurrent layers and cells around whatever products their gates are made of: float, half or int8.
#ifndef BACKENDS_REFERENCE_RECURRENTLAYER_H
#define BACKENDS_REFERENCE_RECURRENTLAYER_H

#include "backends/runtime/BindContext.h"
#include "backends/runtime/Product.h"
#include "kernels/recurrent/Cell.h"

namespace qfx::runtime {

/// Makes the product of one weight and bias of the call; a null bias is none.  `tag` names the weight in the cache.
using ProductMaker =
    llvm::function_ref<llvm::Expected<ProductRef>(llvm::StringRef tag, const Tensor &weight, const Tensor &bias)>;
/// The tensor of that PyTorch name (weight_ih_l0_reverse, bias_hh, ...), or null if the layer has none.
using TensorLookup = llvm::function_ref<Tensor(llvm::StringRef name)>;

/// A layer over a whole sequence (operators 11.4): lin_ih runs once per layer and direction over all time steps, lin_hh
/// once per step.  Reads the slots of QFX_RNN_OP; input f32 [T, N, F], [N, T, F] with batch_first, or [T, F].
/// \returns (output, (h, c)) or (output, h), flat for the ATen spellings.
llvm::Expected<RuntimeValue> emitRecurrentLayer(BindContext &context, kernels::CellKind kind, TensorLookup find,
                                                ProductMaker make);

/// One step: input f32 [N, F] or [F].  Reads the slots of QFX_CELL_OP.  \returns (h, c) or h.
llvm::Expected<RuntimeValue> emitRecurrentCell(BindContext &context, kernels::CellKind kind, TensorLookup find,
                                               ProductMaker make);

/// Tanh or Relu by the call's nonlinearity; an error for any other text.
llvm::Expected<kernels::CellKind> getRnnKind(BindContext &context);

/// The tensors of the called module, or those of an ATen call's list `params` (PyTorch's flat order).  Errors: a weight
/// that is not known before running, a list of another length.
class RecurrentTensors {
public:
  static llvm::Expected<RecurrentTensors> get(BindContext &context);
  Tensor find(llvm::StringRef name) const;

private:
  const Module *module = nullptr;
  std::vector<std::pair<std::string, Tensor>> tensors;
};

} // namespace qfx::runtime

#endif // BACKENDS_REFERENCE_RECURRENTLAYER_H
