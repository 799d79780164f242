// Dynamically quantized recurrent layers and cells: float gates around int8 or half-precision products.
#include "backends/native/DynamicProduct.h"
#include "backends/reference/FloatProduct.h"
#include "backends/reference/RecurrentLayer.h"
#include "backends/runtime/Kernels.h"
#include "ir/Module.h"
#include "ir/Text.h"

namespace qfx::runtime {

using EmitFunction = llvm::Expected<RuntimeValue> (*)(BindContext &, kernels::CellKind, TensorLookup, ProductMaker);

template <class P> static llvm::Expected<ProductRef> toRef(llvm::Expected<std::shared_ptr<P>> made) {
  if (!made)
    return made.takeError();
  return ProductRef(std::move(*made));
}

namespace {

/// The called module's tensors, or those of the packed weights of a function's call.
class DynamicTensors {
public:
  static llvm::Expected<DynamicTensors> get(BindContext &context) {
    DynamicTensors result;
    result.module = context.getCall().module;
    if (result.module)
      return result;
    for (int i = 0; i < 2; ++i) {
      llvm::Expected<std::shared_ptr<const Module>> packed = context.getPacked(i ? "packed_hh" : "packed_ih");
      if (!packed)
        return packed.takeError();
      result.packed[i] = std::move(*packed);
    }
    return result;
  }

  /// weight_ih is `weight` of the first packed weights, bias_hh is `bias` of the second.
  Tensor find(llvm::StringRef name) const {
    const Module &owner = module ? *module : *packed[endsWith(name, "hh") ? 1 : 0];
    const Tensor *tensor = owner.findTensor(module ? name : name.split('_').first);
    return tensor ? *tensor : Tensor();
  }

private:
  const Module *module = nullptr;
  std::shared_ptr<const Module> packed[2]; ///< ih, hh
};

} // namespace

/// The weight's dtype says which: qint8 codes, or floats that are rounded to half.
static llvm::Expected<RuntimeValue> emitDynamic(BindContext &context, kernels::CellKind kind, EmitFunction emit) {
  llvm::Expected<DynamicTensors> tensors = DynamicTensors::get(context);
  if (!tensors)
    return tensors.takeError();
  return emit(
      context, kind, [&](llvm::StringRef name) { return tensors->find(name); },
      [&](llvm::StringRef tag, const Tensor &weight, const Tensor &bias) {
        if (isFloat(weight.getDType()))
          return toRef(FloatProduct::makeHalf(context, tag, weight, bias));
        return toRef(DynamicProduct::make(context, tag, weight, bias, /*reduceRange=*/true));
      });
}

static llvm::Expected<RuntimeValue> emitDynamicRnn(BindContext &context, EmitFunction emit) {
  llvm::Expected<kernels::CellKind> kind = getRnnKind(context);
  if (!kind)
    return kind.takeError();
  return emitDynamic(context, *kind, emit);
}

llvm::Expected<RuntimeValue> bindDynamicLstm(BindContext &context) {
  return emitDynamic(context, kernels::CellKind::Lstm, emitRecurrentLayer);
}
llvm::Expected<RuntimeValue> bindDynamicGru(BindContext &context) {
  return emitDynamic(context, kernels::CellKind::Gru, emitRecurrentLayer);
}
llvm::Expected<RuntimeValue> bindDynamicLstmCell(BindContext &context) {
  return emitDynamic(context, kernels::CellKind::Lstm, emitRecurrentCell);
}
llvm::Expected<RuntimeValue> bindDynamicGruCell(BindContext &context) {
  return emitDynamic(context, kernels::CellKind::Gru, emitRecurrentCell);
}
llvm::Expected<RuntimeValue> bindDynamicRnnCell(BindContext &context) {
  return emitDynamicRnn(context, emitRecurrentCell);
}

} // namespace qfx::runtime
