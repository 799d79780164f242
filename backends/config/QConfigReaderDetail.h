// Reading qconfigs and observers from JSON values; private to config/.
#ifndef BACKENDS_CONFIG_QCONFIGREADERDETAIL_H
#define BACKENDS_CONFIG_QCONFIGREADERDETAIL_H

#include "backends/config/JsonDocument.h"
#include "backends/config/QConfigMapping.h"

namespace qfx {

/// null, a qconfig's name, or an object with `activation` and `weight`.  Complaints go to the cursor's report; then nothing is set.
OptionalQConfig readQConfig(const JsonCursor &cursor);

/// A whole mapping (docs/QConfig.md); what could not be read is left out and complained about.
QConfigMapping readQConfigMapping(const JsonCursor &cursor);

} // namespace qfx

#endif // BACKENDS_CONFIG_QCONFIGREADERDETAIL_H
