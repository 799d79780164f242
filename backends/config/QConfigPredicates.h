// What a qconfig asks for, by dtype: the predicates of torch.ao.quantization.utils.
#ifndef BACKENDS_CONFIG_QCONFIGPREDICATES_H
#define BACKENDS_CONFIG_QCONFIGPREDICATES_H

#include "backends/config/CustomConfig.h" // QuantType

namespace qfx {

/// get_qconfig_dtypes: what the observers of a qconfig would have.
struct QConfigDTypes {
  DType activation = DType::Float32, weight = DType::Float32;
  bool isDynamic = false; ///< parameters of activations are computed at run time
};

// All of these look at the attributes that the observers would have (fake-quantizers: their inner observer's), numerics 6.  An absent
// constructor and torch.nn.Identity, on which PyTorch raises AttributeError, count as float32, static.

QConfigDTypes getQConfigDTypes(const QConfig &qconfig);
bool isActivationDynamicallyQuantized(const QConfig &qconfig);
/// quint8 qint8 qint32 float16 uint8 int8 int16 int32 float8_e5m2 float8_e4m3fn, and not dynamic.
bool isActivationStaticallyQuantized(const QConfig &qconfig);
/// quint8 qint8 uint8 int8, dynamic or not.
bool isActivationInt8Quantized(const QConfig &qconfig);
/// qint32 int32.
bool isActivationInt32Quantized(const QConfig &qconfig);
/// quint8 qint8 float16 quint4x2 uint8 int8 int16 int32 float8_e5m2 float8_e4m3fn.
bool isWeightQuantized(const QConfig &qconfig);
/// quint8 qint8 uint8 int8.
bool isWeightStaticallyQuantized(const QConfig &qconfig);
/// Activation quint8 or uint8 and dynamic, weight qint8 or int8.
bool isOpInt8DynamicallyQuantized(const QConfig &qconfig);

/// get_quant_type (PyTorch never answers QAT, so QuantType has no such value).  A weight that is neither integer-like nor float16, or a float16 weight with an activation that is neither
/// dynamic nor float16, is an error (`qconfig_quant_type`) that names both dtypes.
llvm::Expected<QuantType> getQuantType(const QConfig &qconfig);

/// The activation's observer forgets: averaging_constant is 1 (numerics 5.7).
bool isActivationMemoryless(const QConfig &qconfig);
/// The output takes its input's observer: ReuseInputObserver with NoopObserver.
bool isReuseInputQConfig(const QConfig &qconfig);

} // namespace qfx

#endif // BACKENDS_CONFIG_QCONFIGPREDICATES_H
