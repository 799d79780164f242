// Weighted modules become reference modules: float weights plus quantization parameters (workflow 5.4).
#include "passes/convert/ConvertDetail.h"

#include "backends/config/QConfigPredicates.h"
#include "backends/runtime/ParallelFor.h"
#include "ir/Ops.h"
#include "ir/Text.h"
#include "passes/ModuleUtils.h"
#include "passes/WeightQParams.h"
#include "passes/qat/QatModules.h"

#include "llvm/ADT/STLExtras.h"

#include <optional>

namespace qfx {

/// Unset means float32.
static DType dtypeOrFloat(const DTypeWithConstraints &config) { return config.dtype.value_or(DType::Float32); }

/// Does one of the class's DTypeConfigs fit by dtype alone?  Bounds were prepare's business.
static bool isQConfigSupported(const QConfig &qconfig, llvm::ArrayRef<DTypeConfig> dtypeConfigs) {
  DType activation = qconfig.activation ? qconfig.activation->getDType() : DType::Float32;
  bool isDynamic = qconfig.activation && qconfig.activation->isDynamic();
  DType weight = qconfig.weight ? qconfig.weight->getDType() : DType::Float32;
  DType bias = activation == DType::Float16 && weight == DType::Float16 && !isDynamic ? DType::Float16 : DType::Float32;
  return llvm::any_of(dtypeConfigs, [&](const DTypeConfig &config) {
    if (config.isDynamicSet())
      return isDynamic && dtypeOrFloat(config.input) == activation && dtypeOrFloat(config.output) == DType::Float32 &&
             dtypeOrFloat(config.weight) == weight;
    return dtypeOrFloat(config.input) == activation && dtypeOrFloat(config.output) == activation &&
           dtypeOrFloat(config.weight) == weight && config.bias.value_or(DType::Float32) == bias;
  });
}

/// Names of the weights of a module: `weight`, or weight_ih, weight_hh, ... of a recurrent one.
static std::vector<std::string> getWeightNames(const Module &module) {
  std::vector<std::string> names;
  for (const auto &entry : module.getParameters())
    if (startsWith(entry.first, "weight"))
      names.push_back(entry.first);
  return names;
}

/// Runs the weight's observer once (a fake-quantizer that training has fed goes on from there) and records what it comes to.
static llvm::Error attachWeightQParams(const PendingWeights &pending, const std::string &key) {
  Module &reference = *pending.reference;
  std::string path = joinPath(pending.path, key);
  DType dtype = pending.spec.getDType();
  if (!isQuantized(dtype) && dtype != DType::Float16)
    return error(pending.loc, "the weight '{0}' is to be {1}, which only the decomposed representation has; use a quantized dtype such as qint8",
                 path, getDTypeInfo(dtype).torchName)
        .code("convert_dtype");
  if (dtype == DType::Float16) { // nothing to measure
    setUnmeasuredWeight(reference, key, dtype);
    return llvm::Error::success();
  }
  ModuleRef observer = pending.trained;
  if (!observer) {
    auto built = pending.spec.build();
    if (!built)
      return built.takeError();
    observer = std::move(*built);
  }
  auto qparams = measureWeight(*observer, reference.getTensor(key), path, pending.loc);
  if (!qparams)
    return qparams.takeError();
  setWeightQParams(reference, key, *qparams);
  return llvm::Error::success();
}

/// The reference class that the backend configures for a float class, or null.
static const TargetInfo *findReferenceClass(const BackendConfig &backend, const Module &root) {
  OperatorName rootName = OperatorName::ofClass(root);
  const TargetInfo *found = nullptr;
  for (const auto &[floatClass, referenceClass] : backend.getRootModuleToQuantizedReferenceModule())
    if (floatClass == rootName)
      found = referenceClass.row; // later entries win
  return found;
}

static bool isFusedClass(const BackendConfig &backend, const Module &module) {
  return llvm::is_contained(backend.getFusedModuleClasses(), OperatorName::ofClass(module));
}

llvm::Error measureWeights(ConvertState &state) {
  std::vector<std::optional<llvm::Error>> errors(state.pendingWeights.size());
  runtime::parallelFor(state.context.numThreads, errors.size(), [&](size_t i) {
    const PendingWeights &pending = state.pendingWeights[i];
    for (const std::string &key : pending.keys)
      if (llvm::Error err = attachWeightQParams(pending, key)) {
        errors[i].emplace(std::move(err));
        return;
      }
  });
  llvm::Error all = llvm::Error::success();
  for (std::optional<llvm::Error> &err : errors)
    if (err)
      all = llvm::joinErrors(std::move(all), std::move(*err));
  return all;
}

llvm::Error convertWeightedModule(ConvertState &state, Node &call) {
  ModuleRef module = state.model.getModule(call);
  const BackendConfig &backend = state.context.backend;
  ModuleRef trained; // the weight's fake-quantizer
  if (isQatModule(*module)) {
    if (ModuleRef fakeQuantize = module->findChild("weight_fake_quant"))
      trained = fakeQuantize->deepCopy(); // looking at the weight once more must not change the prepared model
    auto plain = makeFloatFromQat(*module, call.getLoc());
    if (!plain)
      return plain.takeError();
    module = std::move(*plain);
    state.model.getRoot().setModule(call.getTargetText(), module); // even if it stays float
  }
  bool isFused = isFusedClass(backend, *module);
  ModuleRef root = isFused ? module->findChild("0") : module;
  const TargetInfo *referenceClass = root ? findReferenceClass(backend, *root) : nullptr;
  if (!referenceClass)
    return llvm::Error::success(); // not a weighted module of this backend
  const OptionalQConfig *entry = state.prepared.findQConfig(call);
  if (!entry || !*entry || !state.prepared.observedNodes.contains(call.getName()))
    return llvm::Error::success();
  const QConfig &qconfig = **entry;
  const BackendPatternConfig *config = backend.findSingle(OperatorName::ofClass(*module));
  if (!config || !isQConfigSupported(qconfig, config->dtypeConfigs)) {
    Diagnostic why = error(call.getLoc(), "'{0}' stays float between quantize and dequantize: no dtype config of '{1}' in backend '{2}' fits its qconfig",
                           call.getName(), module->getClassName(), backend.getName())
                         .code("convert_dtype_config")
                         .take();
    return state.context.missed("convert-to-reference", call, qconfig.toString(), std::move(why));
  }
  std::vector<std::string> weights = getWeightNames(*root);
  if (!isWeightQuantized(qconfig) || weights.empty())
    return llvm::Error::success();

  ModuleRef reference = makeModuleFrom(*referenceClass, *root);
  std::string rootPath = isFused ? joinPath(call.getTargetText(), "0") : call.getTargetText().str();
  state.pendingWeights.push_back({reference, std::move(weights), makeWeightSpec(*qconfig.weight, root->getClassName()), std::move(trained),
                                  std::move(rootPath), call.getLoc()});
  if (!isFused) {
    state.model.getRoot().setModule(call.getTargetText(), reference);
    return llvm::Error::success();
  }
  // The fused object may be shared with the caller's model: replace the child in a copy.
  ModuleRef fused = module->shallowCopy();
  fused->setChild("0", reference);
  state.model.getRoot().setModule(call.getTargetText(), fused);
  return llvm::Error::success();
}

} // namespace qfx
