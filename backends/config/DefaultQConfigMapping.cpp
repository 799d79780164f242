// Default qconfigs and mappings of the engines (numerics 5.3 - 5.5).
#include "backends/config/ObserverSpecDetail.h"
#include "backends/config/QConfigMapping.h"
#include "ir/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

namespace {
struct DefaultsRow {
  llvm::StringLiteral backend;
  bool reduceRange;
  llvm::StringLiteral weight;
  std::optional<bool> qatReduceRange;
  llvm::StringLiteral qatWeight0, qatWeight1;
  bool hasPerTensorTransposed;
};
} // namespace

static const DefaultsRow kDefaults[] = {
#define QFX_DEFAULTS(...) {__VA_ARGS__},
#include "backends/config/DefaultQConfigs.def"
};

static llvm::Expected<const DefaultsRow *> findDefaults(llvm::StringRef backend) {
  std::vector<std::string> names;
  for (const DefaultsRow &row : kDefaults) {
    if (row.backend == backend)
      return &row;
    names.push_back(row.backend.str());
  }
  return error(Location(), "no default qconfig for backend '{0}'{1}: expected fbgemm, x86, qnnpack or onednn", backend,
               didYouMean(backend, names))
      .code("qconfig_backend");
}

bool hasDefaultQConfig(llvm::StringRef backend) {
  return llvm::any_of(kDefaults, [&](const DefaultsRow &row) { return row.backend == backend; });
}

llvm::Expected<QConfig> getDefaultQConfig(llvm::StringRef backend, int version) {
  llvm::Expected<const DefaultsRow *> row = findDefaults(backend);
  if (!row)
    return row.takeError();
  if (version != 0)
    return error(Location(), "default qconfigs have version 0, got {0}", std::to_string(version)).code("qconfig_version");
  return QConfig{makeSpec("HistogramObserver", {makeKeyword("reduce_range", (*row)->reduceRange)}),
                 makeNamedSpec((*row)->weight)};
}

llvm::Expected<QConfig> getDefaultQatQConfig(llvm::StringRef backend, int version) {
  llvm::Expected<const DefaultsRow *> row = findDefaults(backend);
  if (!row)
    return row.takeError();
  if (version != 0 && version != 1)
    return error(Location(), "default qat qconfigs have version 0 or 1, got {0}", std::to_string(version)).code("qconfig_version");
  std::vector<Keyword> keywords = {makeKeyword("quant_min", 0), makeKeyword("quant_max", 255)};
  if ((*row)->qatReduceRange)
    keywords.push_back(makeKeyword("reduce_range", *(*row)->qatReduceRange));
  return QConfig{makeFakeQuantizeSpec(version == 0 ? "FakeQuantize" : "FusedMovingAvgObsFakeQuantize",
                                      "MovingAverageMinMaxObserver", std::move(keywords)),
                 makeNamedSpec(version == 0 ? (*row)->qatWeight0 : (*row)->qatWeight1)};
}

static constexpr llvm::StringLiteral kTransposed[] = {
    "torch.nn.ConvTranspose1d",
    "torch.nn.ConvTranspose2d",
    "torch.nn.ConvTranspose3d",
    "torch.nn.functional.conv_transpose1d",
    "torch.nn.functional.conv_transpose2d",
    "torch.nn.functional.conv_transpose3d"};
static constexpr llvm::StringLiteral kFixed0To1[] = {
    "torch.nn.Hardsigmoid", "torch.nn.functional.hardsigmoid", "hardsigmoid", "hardsigmoid_",
    "torch.nn.Sigmoid",     "torch.sigmoid",                   "sigmoid",     "sigmoid_",
    "torch.nn.Softmax"};
static constexpr llvm::StringLiteral kFixedNeg1To1[] = {"torch.nn.Tanh", "torch.tanh", "tanh", "tanh_"};

static QConfigMapping makeMapping(const QConfig &qconfig, bool isQat, bool hasPerTensorTransposed) {
  const ObserverSpec weight = makeNamedSpec(isQat ? "default_weight_fake_quant" : "default_weight_observer");
  QConfigMapping mapping;
  mapping.setGlobal(qconfig);
  auto set = [&](llvm::StringRef type, const QConfig &entry) { mapping.setObjectType(OperatorName::resolve(type), entry); };
  set("reshape", *findQConfigAlias("default_reuse_input_qconfig"));
  for (llvm::StringRef type : kTransposed)
    set(type, hasPerTensorTransposed ? QConfig{qconfig.activation, weight} : qconfig);
  for (llvm::StringRef type : {"torch.nn.functional.layer_norm", "torch.nn.LayerNorm"})
    set(type, QConfig{qconfig.activation, makeNamedSpec("default_placeholder_observer")});
  set("torch.nn.PReLU", *findQConfigAlias("default_quint8_weight_qconfig"));
  auto setFixed = [&](llvm::ArrayRef<llvm::StringLiteral> types, llvm::StringRef observer) {
    ObserverSpec activation = isQat ? makeFakeQuantizeSpec("FixedQParamsFakeQuantize", observer, {}) : makeNamedSpec(observer);
    for (llvm::StringRef type : types)
      set(type, QConfig{activation, weight});
  };
  setFixed(kFixed0To1, "default_fixed_qparams_range_0to1_observer");
  setFixed(kFixedNeg1To1, "default_fixed_qparams_range_neg1to1_observer");
  return mapping;
}

llvm::Expected<QConfigMapping> getDefaultQConfigMapping(llvm::StringRef backend, int version) {
  llvm::Expected<QConfig> qconfig = getDefaultQConfig(backend, version);
  if (!qconfig)
    return qconfig.takeError();
  return makeMapping(*qconfig, /*isQat=*/false, (*findDefaults(backend))->hasPerTensorTransposed);
}

llvm::Expected<QConfigMapping> getDefaultQatQConfigMapping(llvm::StringRef backend, int version) {
  llvm::Expected<QConfig> qconfig = getDefaultQatQConfig(backend, version);
  if (!qconfig)
    return qconfig.takeError();
  return makeMapping(*qconfig, /*isQat=*/true, (*findDefaults(backend))->hasPerTensorTransposed);
}

/// Everything but the fixed-qparams operators gets the symmetric qconfig.
static QConfigMapping makeSymmetric(QConfigMapping mapping, llvm::StringRef alias) {
  QConfig qconfig = *findQConfigAlias(alias);
  mapping.setGlobal(qconfig);
  auto objectTypes = mapping.getObjectTypes();
  for (const auto &[type, entry] : objectTypes)
    if (!llvm::is_contained(kFixed0To1, llvm::StringRef(type.text)) && !llvm::is_contained(kFixedNeg1To1, llvm::StringRef(type.text)))
      mapping.setObjectType(type, qconfig);
  return mapping;
}

QConfigMapping getSymmetricQnnpackQConfigMapping() {
  return makeSymmetric(llvm::cantFail(getDefaultQConfigMapping("qnnpack")), "default_symmetric_qnnpack_qconfig");
}
QConfigMapping getSymmetricQnnpackQatQConfigMapping() {
  return makeSymmetric(llvm::cantFail(getDefaultQatQConfigMapping("qnnpack")), "default_symmetric_qnnpack_qat_qconfig");
}

} // namespace qfx
