// Reading qconfigs and observers from JSON values; private to config/.
#ifndef BACKENDS_CONFIG_QCONFIGREADERDETAIL_H
#define BACKENDS_CONFIG_QCONFIGREADERDETAIL_H

#include "backends/config/JsonDocument.h"
#include "backends/config/QConfigMapping.h"

namespace qfx {

/// What a mapping's qconfigs say: how to quantize, or how to equalize before (EqualizationConfig.h).
enum class QConfigKind : uint8_t { Quantization, Equalization };

/// null, a qconfig's name, or an object with `activation` (of an equalization config `input_activation`) and `weight`.  Complaints go to the
/// cursor's report; then nothing is set.
OptionalQConfig readQConfig(const JsonCursor &cursor, QConfigKind kind = QConfigKind::Quantization);

/// A whole mapping (docs/QConfig.md); what could not be read is left out and complained about.
QConfigMapping readQConfigMapping(const JsonCursor &cursor, QConfigKind kind = QConfigKind::Quantization);

} // namespace qfx

#endif // BACKENDS_CONFIG_QCONFIGREADERDETAIL_H
