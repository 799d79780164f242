// Dynamically quantized recurrent layers and cells: float gates around int8 or half-precision products.
#include "backends/native/DynamicProduct.h"
#include "backends/reference/FloatProduct.h"
#include "backends/reference/RecurrentLayer.h"
#include "backends/runtime/Kernels.h"
#include "ir/Module.h"

#include <map>

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
    if (context.getCall().find("params")) {
      if (llvm::Error err = result.readLayers(context))
        return err;
      return result;
    }
    for (const char *name : {"ih", "hh"}) {
      llvm::Expected<std::shared_ptr<const Module>> packed = context.getPacked(std::string("packed_") + name);
      if (!packed)
        return packed.takeError();
      result.add(name, *packed, /*reduceRange=*/true);
    }
    return result;
  }

  /// Null if there is none of PyTorch's name.
  Tensor find(llvm::StringRef name) const {
    if (module) {
      const Tensor *tensor = module->findTensor(name);
      return tensor ? *tensor : Tensor();
    }
    auto it = tensors.find(name.str());
    return it == tensors.end() ? Tensor() : it->second.tensor;
  }

  bool reducesRange(llvm::StringRef weight) const {
    auto it = tensors.find(weight.str());
    return it == tensors.end() || it->second.reduceRange;
  }

private:
  /// weight_<suffix> and bias_<suffix> of packed weights.
  void add(const std::string &suffix, const std::shared_ptr<const Module> &packed, bool reduceRange) {
    for (const char *name : {"weight", "bias"})
      if (const Tensor *tensor = packed->findTensor(name))
        tensors[std::string(name) + "_" + suffix] = {*tensor, reduceRange};
  }

  /// `params` has (packed ih, packed hh, reduce_range) of each layer, forwards and backwards.
  llvm::Error readLayers(BindContext &context) {
    llvm::Expected<bool> isBidirectional = context.attrs().getBool("bidirectional");
    if (!isBidirectional)
      return isBidirectional.takeError();
    const RuntimeValue params = context.getValue("params");
    for (size_t i = 0; i < params.elements.size(); ++i) {
      const std::vector<RuntimeValue> &cell = params.elements[i].elements;
      if (cell.size() != 3 || cell[0].kind != RuntimeValue::Kind::Packed || cell[1].kind != RuntimeValue::Kind::Packed)
        return context.fail("params wants what make_quantized_cell_params gives, one for each layer and direction");
      const size_t directions = *isBidirectional ? 2 : 1;
      const std::string suffix = "_l" + std::to_string(i / directions) + (i % directions ? "_reverse" : "");
      const bool reduceRange = cell[2].host.isBool() && cell[2].host.getBool();
      add("ih" + suffix, cell[0].packed, reduceRange);
      add("hh" + suffix, cell[1].packed, reduceRange);
    }
    return llvm::Error::success();
  }

  struct Entry {
    Tensor tensor;
    bool reduceRange = true;
  };
  const Module *module = nullptr;
  std::map<std::string, Entry> tensors;
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
        return toRef(DynamicProduct::make(context, tag, weight, bias, tensors->reducesRange(tag)));
      });
}

static llvm::Expected<RuntimeValue> emitDynamicRnn(BindContext &context, EmitFunction emit) {
  llvm::Expected<kernels::CellKind> kind = getRnnKind(context);
  if (!kind)
    return kind.takeError();
  return emitDynamic(context, *kind, emit);
}

llvm::Expected<RuntimeValue> bindCellParams(BindContext &context) {
  std::vector<RuntimeValue> parts;
  for (const char *slot : {"packed_ih", "packed_hh"}) {
    llvm::Expected<std::shared_ptr<const Module>> packed = context.getPacked(slot);
    if (!packed)
      return packed.takeError();
    parts.push_back(RuntimeValue::ofPacked(*packed));
  }
  llvm::Expected<bool> reducesRange = context.attrs().getBool("reduce_range");
  if (!reducesRange)
    return reducesRange.takeError();
  parts.push_back(RuntimeValue::ofHost(Argument(*reducesRange)));
  return RuntimeValue::ofSequence(std::move(parts));
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
