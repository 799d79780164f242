// The qconfig mapping that a backend's own dtype configs ask for, where nobody wrote one.
#ifndef BACKENDS_CONFIG_DERIVEDMAPPING_H
#define BACKENDS_CONFIG_DERIVEDMAPPING_H

#include "backends/config/BackendConfig.h"
#include "backends/config/QConfigMapping.h"

namespace qfx {

/// Derives a mapping under which every entry that can be is quantized by one of its dtype configs:
///  - each entry wants the first of its dtype configs for which there are observers: static quint8, qint8, qint32 or float16 activations,
///    dynamic quint8, qint8 or float16 ones, or float32 activations with a quantized weight;
///  - the global qconfig has the activation that serves most entries, among equals the one that more of them name first (then the weight dtype
///    of most; ties to the earlier entry), within the bounds of all of them: the intersection of their code ranges, the largest of their
///    smallest scales (as eps);
///  - entries that it does not fit, among them those with fixed parameters, get object_type entries of their own.
/// Observers: HistogramObserver for static activations (MinMaxObserver for qint32), FixedQParamsObserver where scale and zero point are exact,
/// PerChannelMinMaxObserver for weights, symmetric for qint8; weight-only quint8 and quint4x2 have float parameters.  For QAT the
/// fake-quantizers of the same ranges.
/// A backend for which no entry has a usable dtype config is an error (`qconfig_needed`).
llvm::Expected<QConfigMapping> deriveQConfigMapping(const BackendConfig &backend, bool isQat);

} // namespace qfx

#endif // BACKENDS_CONFIG_DERIVEDMAPPING_H
