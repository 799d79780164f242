// Sets of dtypes per question (numerics 6).
#include "backends/config/QConfigPredicates.h"

#include "ir/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

static bool isOneOf(DType dtype, std::initializer_list<DType> set) { return llvm::is_contained(set, dtype); }

static bool isInt8Like(DType dtype) { return isOneOf(dtype, {DType::QUInt8, DType::QInt8, DType::UInt8, DType::Int8}); }

static bool isPlainOrFloat8(DType dtype) {
  return isOneOf(dtype, {DType::UInt8, DType::Int8, DType::Int16, DType::Int32, DType::Float8E5M2, DType::Float8E4M3FN});
}

/// What get_quant_type counts as quantized.
static bool isIntegerLike(DType dtype) {
  return isPlainOrFloat8(dtype) || isOneOf(dtype, {DType::QUInt8, DType::QInt8, DType::QUInt4x2, DType::QInt32});
}

QConfigDTypes getQConfigDTypes(const QConfig &qconfig) {
  QConfigDTypes dtypes;
  if (qconfig.activation) {
    dtypes.activation = qconfig.activation->getDType();
    dtypes.isDynamic = qconfig.activation->isDynamic();
  }
  if (qconfig.weight)
    dtypes.weight = qconfig.weight->getDType();
  return dtypes;
}

bool isActivationDynamicallyQuantized(const QConfig &qconfig) { return getQConfigDTypes(qconfig).isDynamic; }

bool isActivationStaticallyQuantized(const QConfig &qconfig) {
  QConfigDTypes dtypes = getQConfigDTypes(qconfig);
  return !dtypes.isDynamic && (isPlainOrFloat8(dtypes.activation) ||
                               isOneOf(dtypes.activation, {DType::QUInt8, DType::QInt8, DType::QInt32, DType::Float16}));
}

bool isActivationInt8Quantized(const QConfig &qconfig) { return isInt8Like(getQConfigDTypes(qconfig).activation); }

bool isActivationInt32Quantized(const QConfig &qconfig) {
  return isOneOf(getQConfigDTypes(qconfig).activation, {DType::QInt32, DType::Int32});
}

bool isWeightQuantized(const QConfig &qconfig) {
  DType weight = getQConfigDTypes(qconfig).weight;
  return isPlainOrFloat8(weight) || isOneOf(weight, {DType::QUInt8, DType::QInt8, DType::Float16, DType::QUInt4x2});
}

bool isWeightStaticallyQuantized(const QConfig &qconfig) { return isInt8Like(getQConfigDTypes(qconfig).weight); }

bool isOpInt8DynamicallyQuantized(const QConfig &qconfig) {
  QConfigDTypes dtypes = getQConfigDTypes(qconfig);
  return dtypes.isDynamic && isOneOf(dtypes.activation, {DType::QUInt8, DType::UInt8}) &&
         isOneOf(dtypes.weight, {DType::QInt8, DType::Int8});
}

llvm::Expected<QuantType> getQuantType(const QConfig &qconfig) {
  QConfigDTypes dtypes = getQConfigDTypes(qconfig);
  if (isIntegerLike(dtypes.weight)) {
    if (dtypes.isDynamic)
      return QuantType::Dynamic;
    return isIntegerLike(dtypes.activation) ? QuantType::Static : QuantType::WeightOnly;
  }
  if (dtypes.weight == DType::Float16) {
    if (dtypes.isDynamic)
      return QuantType::Dynamic;
    if (dtypes.activation == DType::Float16)
      return QuantType::Static;
  }
  return error(Location(), "no quantization type has activation dtype '{0}'{1} and weight dtype '{2}'",
               getDTypeInfo(dtypes.activation).torchName, dtypes.isDynamic ? " (dynamic)" : "",
               getDTypeInfo(dtypes.weight).torchName)
      .code("qconfig_quant_type");
}

/// The keyword of the constructor, or of the observer that a fake-quantizer wraps (which passes its own keywords on).
static const Argument *findKeyword(const ObserverSpec &spec, llvm::StringRef name) {
  for (const auto &[key, value] : spec.keywords)
    if (key == name)
      return &value;
  return spec.observer ? findKeyword(*spec.observer, name) : nullptr;
}

bool isActivationMemoryless(const QConfig &qconfig) {
  if (!qconfig.activation)
    return false;
  const Argument *constant = findKeyword(*qconfig.activation, "averaging_constant");
  return constant && constant->isNumber() && constant->getNumber() == 1.0;
}

bool isReuseInputQConfig(const QConfig &qconfig) {
  return qconfig.activation && qconfig.weight && qconfig.activation->isReuseInput() && qconfig.weight->isNoop();
}

} // namespace qfx
