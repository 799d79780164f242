// from_float of the quantized and reference module classes.
#include "backends/observe/Observer.h"
#include "ir/Diagnostics.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "ir/Text.h"
#include "passes/ModuleUtils.h"
#include "passes/WeightQParams.h"
#include "passes/eager/EagerDetail.h"
#include "passes/eager/ObserverHooks.h"
#include "passes/qat/QatModules.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace qfx {

bool isFusedModule(const Module &module) {
  llvm::StringRef name = module.getClassName();
  return name.consume_front("torch.ao.nn.intrinsic.") && !startsWith(name, "quantized.");
}

/// The member that holds the weight: child 0 of a fused float module, the module itself otherwise.
static const Module &getRoot(const Module &module) {
  ModuleRef first = module.getClass() && module.getClass()->getOp().has(Traits::Composite) ? module.findChild("0") : nullptr;
  return first ? *first : module; // the parent keeps the child alive
}

static llvm::Error refuse(const Module &module, const TargetInfo &target, const llvm::Twine &why) {
  return error(module.getLoc(), "'{0}' cannot be made from '{1}': {2}", target.text, module.getClassName(), why.str()).code("eager_swap");
}

/// A class of `target` with what it has in common with `root`; every attribute that the constructor demands must have been there.
static llvm::Expected<ModuleRef> makeTwin(const Module &module, const Module &root, const TargetInfo &target) {
  ModuleRef made = makeModuleFrom(target, root);
  made->setTraining(module.isTraining());
  for (const ModuleTensor &tensor : getModuleTensors(*made)) // recurrent layers: as many as there are layers and directions
    if (const Tensor *own = tensor.isBuffer || made->findTensor(tensor.name) ? nullptr : root.findTensor(tensor.name))
      made->setParameter(tensor.name, *own);
  for (const SlotInfo &slot : target.getSignature().getSlots()) {
    if (slot.isOptional || made->findAttribute(slot.name))
      continue;
    const Argument *value = nullptr; // negative_slope of Linear + LeakyReLU stands on the activation
    for (const auto &entry : module.getChildren())
      if (const Argument *found = entry.second->findAttribute(slot.name))
        value = found;
    if (!value)
      return refuse(module, target, "it has no '" + slot.name + "'");
    made->setAttribute(slot.name, *value);
  }
  return made;
}

static bool isPrelu(const TargetInfo &target) { return target.op == OpKind::QuantizedPrelu; }

static bool isEmbedding(const TargetInfo &target) {
  return target.op == OpKind::QuantizedEmbedding || target.op == OpKind::QuantizedEmbeddingBag;
}

/// The observer that looks at the weight: the trained fake-quantizer, or a fresh one of the qconfig.
static llvm::Expected<ModuleRef> getWeightObserver(const Module &module, const Module &root, const TargetInfo &target,
                                                   const FromFloatOptions &options) {
  if (ModuleRef trained = module.findChild("weight_fake_quant"))
    return trained->deepCopy(); // looking at the weight must not change the source
  const QConfig &qconfig = options.weightQConfig ? *options.weightQConfig : options.qconfig;
  bool isDynamic = target.op == OpKind::DynamicLinear || target.op == OpKind::DynamicLinearRelu;
  std::optional<ObserverSpec> spec = qconfig.weight;
  if (!spec && isEmbedding(target))
    spec = findQConfigAlias("float_qparams_weight_only_qconfig")->weight;
  if (!spec && isDynamic)
    spec = findQConfigAlias("default_dynamic_qconfig")->weight;
  if (isPrelu(target) && !spec) // QFX (known_traps B94)
    spec = ObserverSpec{&requireModuleClass("torch.ao.quantization.observer.MinMaxObserver"), /*isPartial=*/false, {}, nullptr};
  if (!spec)
    return error(module.getLoc(), "the qconfig {0} has no weight observer for '{1}'", qconfig.toString(), root.getClassName())
        .code("eager_swap");
  return makeWeightSpec(*spec, root.getClassName()).build();
}

/// The dtypes that the class takes as codes of its weight (operators 13.2, 13.4, 15).
static llvm::ArrayRef<DType> getWeightDTypes(const TargetInfo &target) {
  static constexpr DType kEmbedding[] = {DType::QUInt8, DType::QUInt4x2}, kDynamic[] = {DType::QInt8, DType::Float16}, kSlope[] = {DType::QUInt8};
  if (isEmbedding(target))
    return kEmbedding;
  if (isPrelu(target))
    return kSlope;
  return startsWith(target.getOp().name, "Dynamic") ? llvm::ArrayRef(kDynamic) : llvm::ArrayRef(kDynamic).take_front();
}

static llvm::Error checkWeightDType(const Module &module, const TargetInfo &target, DType dtype) {
  llvm::ArrayRef<DType> allowed = getWeightDTypes(target);
  if (llvm::is_contained(allowed, dtype))
    return llvm::Error::success();
  std::string names;
  for (DType one : allowed)
    names += (names.empty() ? "torch." : " or torch.") + getDTypeInfo(one).torchName.str();
  return refuse(module, target, "its weight observer must have the dtype " + names + ", got torch." + getDTypeInfo(dtype).torchName);
}

/// Weights of `made` are replaced by their quantized form: all tensors whose name starts with `weight` of a recurrent layer, each with an
/// observer of its own, else `weight`.
static llvm::Error quantizeWeights(Module &made, const Module &module, const Module &root, const TargetInfo &target,
                                   const FromFloatOptions &options) {
  for (const auto &[name, weight] : Module::Named<Tensor>(made.getParameters())) {
    if (!startsWith(name, "weight"))
      continue;
    auto observer = getWeightObserver(module, root, target, options);
    if (!observer)
      return observer.takeError();
    DType dtype = getObserverDType(**observer);
    if (llvm::Error err = checkWeightDType(module, target, dtype))
      return err;
    if (dtype == DType::Float16) {
      made.setParameter(name, saturateToHalf(weight));
    } else {
      bool keep = options.usePrecomputedFakeQuant && module.findChild("weight_fake_quant");
      auto qparams = keep ? calculateQParams(**observer) : measureWeight(**observer, weight, name, module.getLoc());
      if (!qparams)
        return qparams.takeError();
      if (isEmbedding(target) && qparams->scheme != QScheme::PerChannelAffineFloatQParams)
        return refuse(module, target, "its weight observer must have the scheme torch.per_channel_affine_float_qparams, got torch." +
                                          getQSchemeName(qparams->scheme));
      auto quantized = quantizeTensor(weight, *qparams);
      if (!quantized)
        return quantized.takeError();
      made.setParameter(name, std::move(*quantized));
    }
    if (target.getSignature().findSlot("dtype"))
      made.setAttribute("dtype", dtype);
  }
  return llvm::Error::success();
}

/// Scale and zero point of the result: attributes of the class, or the two buffers of Quantize.
static llvm::Error setOutputQParams(Module &made, const Module &module, const TargetInfo &target) {
  bool isQuantize = target.op == OpKind::QuantizePerTensor;
  if (!isQuantize && !target.getSignature().findSlot("scale"))
    return llvm::Error::success();
  ModuleRef observer = ObserverHooks::getObserver(module);
  bool isWeighted = target.getOp().has(Traits::Weighted) && !isPrelu(target);
  if (!observer && isWeighted && target.op != OpKind::QuantizedLinear)
    return llvm::Error::success(); // a convolution that was not observed keeps scale 1, as upstream's does for dynamic use
  if (!observer)
    return refuse(module, target, "it has no observer: prepare comes first");
  if (isWeighted && getObserverDType(*observer) == DType::Float32)
    return llvm::Error::success();
  auto qparams = calculateQParams(*observer);
  if (!qparams)
    return qparams.takeError();
  if (qparams->scales.size() != 1 || !qparams->floatZeroPoints.empty())
    return refuse(module, target, "its activation observer is not per tensor");
  if (!std::isfinite(qparams->scales.front()))
    return error(module.getLoc(), "the observer of '{0}' yields the scale {1}: its calibration data was not finite", module.getClassName(),
                 qparams->scales.front())
        .code("convert_scale");
  if (isQuantize) {
    made.setAttribute("dtype", qparams->dtype);
    made.setBuffer("scale", Tensor::of<float>(DType::Float32, {1}, qparams->scales));
    made.setBuffer("zero_point", Tensor::of<int64_t>(DType::Int64, {1}, qparams->zeroPoints));
  } else {
    made.setAttribute("scale", static_cast<double>(qparams->scales.front()));
    made.setAttribute("zero_point", qparams->zeroPoints.front());
  }
  return llvm::Error::success();
}

llvm::Expected<ModuleRef> makeQuantizedFromFloat(const Module &module, const TargetInfo &target, const FromFloatOptions &options) {
  ModuleRef plain; // a QAT module's float form: its batch norm is folded before its weight is quantized
  if (isQatModule(module)) {
    auto made = makeFloatFromQat(module, module.getLoc());
    if (!made)
      return made;
    plain = std::move(*made);
  }
  const Module &root = getRoot(plain ? *plain : module);
  // QFX: upstream copies the mode and sums all the same (operators 13.4).
  if (target.op == OpKind::QuantizedEmbeddingBag)
    if (const Argument *mode = root.findAttribute("mode"); mode && mode->isString() && mode->getString() != "sum")
      return refuse(module, target, "its mode is '" + mode->getString() + "', a quantized bag always sums");
  auto made = makeTwin(module, root, target);
  if (!made)
    return made;
  if (target.getOp().has(Traits::Weighted) || isPrelu(target))
    if (llvm::Error err = quantizeWeights(**made, module, root, target, options))
      return err;
  if (llvm::Error err = setOutputQParams(**made, module, target))
    return err;
  return made;
}

llvm::Expected<ModuleRef> makeReferenceFromFloat(const Module &module, const TargetInfo &target, const FromFloatOptions &options) {
  const Module &root = getRoot(module);
  auto made = makeTwin(module, root, target);
  if (!made)
    return made;
  for (const auto &[name, weight] : Module::Named<Tensor>((*made)->getParameters())) {
    if (!startsWith(name, "weight"))
      continue;
    auto observer = getWeightObserver(module, root, target, options);
    if (!observer)
      return observer.takeError();
    if (DType dtype = getObserverDType(**observer); dtype == DType::Float16) {
      setUnmeasuredWeight(**made, name, dtype);
      continue;
    }
    auto qparams = measureWeight(**observer, weight, name, module.getLoc());
    if (!qparams)
      return qparams.takeError();
    setWeightQParams(**made, name, *qparams);
  }
  return made;
}

} // namespace qfx
