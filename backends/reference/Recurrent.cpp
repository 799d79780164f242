// Float recurrent layers and cells, and their reference modules with quantized weights.
#include "backends/reference/Decomposition.h"
#include "backends/reference/FloatProduct.h"
#include "backends/reference/RecurrentLayer.h"
#include "backends/reference/ReferenceModules.h"
#include "backends/runtime/Kernels.h"
#include "ir/Module.h"

namespace qfx::runtime {

using EmitFunction = llvm::Expected<RuntimeValue> (*)(BindContext &, kernels::CellKind, TensorLookup, ProductMaker);

static llvm::Expected<ProductRef> toRef(llvm::Expected<std::shared_ptr<FloatProduct>> made) {
  if (!made)
    return made.takeError();
  return ProductRef(std::move(*made));
}

static llvm::Expected<RuntimeValue> emitFloat(BindContext &context, kernels::CellKind kind, EmitFunction emit) {
  llvm::Expected<RecurrentTensors> tensors = RecurrentTensors::get(context);
  if (!tensors)
    return tensors.takeError();
  return emit(
      context, kind, [&](llvm::StringRef name) { return tensors->find(name); },
      [&](llvm::StringRef tag, const Tensor &weight, const Tensor &bias) {
        return toRef(FloatProduct::make(context, tag, weight, bias));
      });
}

static llvm::Expected<RuntimeValue> emitFloatRnn(BindContext &context, EmitFunction emit) {
  llvm::Expected<kernels::CellKind> kind = getRnnKind(context);
  if (!kind)
    return kind.takeError();
  return emitFloat(context, *kind, emit);
}

/// Weights quantized and dequantized once, then the float layer (operators 21).
static llvm::Expected<RuntimeValue> emitReference(BindContext &context, kernels::CellKind kind, EmitFunction emit) {
  const Module *module = context.getCall().module;
  return emit(
      context, kind,
      [&](llvm::StringRef name) {
        const Tensor *tensor = module->findTensor(name);
        return tensor ? *tensor : Tensor();
      },
      [&](llvm::StringRef tag, const Tensor &, const Tensor &bias) -> llvm::Expected<ProductRef> {
        llvm::Expected<Tensor> weight = getReferenceWeight(context, tag);
        if (!weight)
          return weight.takeError();
        return toRef(FloatProduct::make(context, tag, *weight, bias));
      });
}

/// Does the called module leave the work to children?
static bool isDecomposed(BindContext &context) {
  const Module *module = context.getCall().module;
  return module && !module->findTensor("weight_ih") && !module->findTensor("weight_ih_l0");
}

llvm::Expected<RuntimeValue> bindLstm(BindContext &context) {
  if (isDecomposed(context))
    return bindDecomposedLstm(context);
  return emitFloat(context, kernels::CellKind::Lstm, emitRecurrentLayer);
}
llvm::Expected<RuntimeValue> bindGru(BindContext &context) {
  return emitFloat(context, kernels::CellKind::Gru, emitRecurrentLayer);
}
llvm::Expected<RuntimeValue> bindRnn(BindContext &context) { return emitFloatRnn(context, emitRecurrentLayer); }
llvm::Expected<RuntimeValue> bindLstmCell(BindContext &context) {
  if (isDecomposed(context))
    return bindDecomposedLstmCell(context);
  return emitFloat(context, kernels::CellKind::Lstm, emitRecurrentCell);
}
llvm::Expected<RuntimeValue> bindGruCell(BindContext &context) {
  return emitFloat(context, kernels::CellKind::Gru, emitRecurrentCell);
}
llvm::Expected<RuntimeValue> bindRnnCell(BindContext &context) { return emitFloatRnn(context, emitRecurrentCell); }

llvm::Expected<RuntimeValue> bindReferenceLstm(BindContext &context) {
  return emitReference(context, kernels::CellKind::Lstm, emitRecurrentLayer);
}
llvm::Expected<RuntimeValue> bindReferenceGru(BindContext &context) {
  return emitReference(context, kernels::CellKind::Gru, emitRecurrentLayer);
}
llvm::Expected<RuntimeValue> bindReferenceLstmCell(BindContext &context) {
  return emitReference(context, kernels::CellKind::Lstm, emitRecurrentCell);
}
llvm::Expected<RuntimeValue> bindReferenceGruCell(BindContext &context) {
  return emitReference(context, kernels::CellKind::Gru, emitRecurrentCell);
}
llvm::Expected<RuntimeValue> bindReferenceRnnCell(BindContext &context) {
  llvm::Expected<kernels::CellKind> kind = getRnnKind(context);
  if (!kind)
    return kind.takeError();
  return emitReference(context, *kind, emitRecurrentCell);
}

} // namespace qfx::runtime
