// quantize, quantize_qat and quantize_dynamic: prepare, run and convert in one call.
#include "backends/runtime/Program.h"
#include "ir/Diagnostics.h"
#include "passes/eager/Eager.h"

namespace qfx {

void setTraining(GraphModule &model, bool mode) {
  model.getRoot().setTraining(mode);
  model.getRoot().forEachModule([&](const std::string &, const ModuleRef &module) { module->setTraining(mode); });
}

llvm::Expected<GraphModule> quantizeEager(GraphModule model, CalibrateFn calibrate, const std::optional<ModuleMapping> &mapping,
                                          PassContext &context) {
  setTraining(model, false);
  auto prepared = prepareEager(std::move(model), {}, context);
  if (!prepared)
    return prepared;
  if (llvm::Error err = calibrate(*prepared))
    return err;
  EagerConvertOptions options;
  options.mapping = mapping;
  return convertEager(std::move(*prepared), options, context);
}

llvm::Expected<GraphModule> quantizeQatEager(GraphModule model, CalibrateFn train, PassContext &context) {
  setTraining(model, true);
  auto prepared = prepareQatEager(std::move(model), std::nullopt, context);
  if (!prepared)
    return prepared;
  if (llvm::Error err = train(*prepared))
    return err;
  return convertEager(std::move(*prepared), {}, context);
}

/// The alias of the qconfig that quantize_dynamic uses for a weight dtype, or empty.
static llvm::StringRef getDynamicQConfigName(DType dtype) {
  switch (dtype) {
  case DType::QInt8:
    return "default_dynamic_qconfig";
  case DType::Float16:
    return "float16_dynamic_qconfig";
  case DType::QUInt8:
    return "float_qparams_weight_only_qconfig";
  case DType::QUInt4x2:
    return "float_qparams_weight_only_qconfig_4bit";
  default:
    return "";
  }
}

llvm::Expected<QConfigMapping> makeDynamicSpec(llvm::ArrayRef<std::string> classesOrNames, DType dtype) {
  llvm::StringRef alias = getDynamicQConfigName(dtype);
  if (alias.empty())
    return error({}, "dynamic quantization knows the weight dtypes qint8, float16, quint8 and quint4x2, got {0}", getDTypeInfo(dtype).torchName)
        .code("eager_dtype");
  QConfigMapping spec;
  for (const std::string &name : classesOrNames) {
    OperatorName type = OperatorName::resolve(name);
    if (type.isModuleClass() && name.find('.') != std::string::npos)
      spec.setObjectType(type, findQConfigAlias(alias));
    else
      spec.setModuleName(name, findQConfigAlias(alias));
  }
  return spec;
}

llvm::Expected<QConfigMapping> getDefaultDynamicSpec(DType dtype) {
  if (dtype == DType::QUInt8)
    return makeDynamicSpec({"torch.nn.EmbeddingBag", "torch.nn.Embedding"}, dtype);
  if (dtype == DType::QUInt4x2)
    return makeDynamicSpec({"torch.nn.EmbeddingBag"}, dtype);
  return makeDynamicSpec({"torch.nn.Linear", "torch.nn.LSTM", "torch.nn.GRU", "torch.nn.LSTMCell", "torch.nn.RNNCell", "torch.nn.GRUCell"},
                         dtype);
}

llvm::Expected<GraphModule> quantizeDynamicEager(GraphModule model, const QConfigMapping &spec, const std::optional<ModuleMapping> &mapping,
                                                 PassContext &context) {
  setTraining(model, false);
  if (llvm::Error err = propagateQConfig(model, spec))
    return err;
  EagerConvertOptions options;
  options.mapping = mapping ? *mapping : getDefaultDynamicQuantModuleMappings();
  return convertEager(std::move(model), options, context);
}

llvm::Error defaultEvalFn(const GraphModule &model, llvm::ArrayRef<InputBatch> data) {
  auto program = Program::compile(model);
  if (!program)
    return program.takeError();
  for (const InputBatch &batch : data) {
    auto outputs = (*program)->run(batch.tensors);
    if (!outputs)
      return outputs.takeError();
  }
  return llvm::Error::success();
}

} // namespace qfx
