// convert-to-reference: a calibrated model becomes a reference quantized model (workflow 5).
#ifndef PASSES_CONVERT_CONVERT_H
#define PASSES_CONVERT_CONVERT_H

#include "backends/config/QConfigMapping.h"
#include "passes/Pass.h"

#include <optional>

namespace qfx {

struct ConvertOptions {
  /// Overrides prepare's mapping: entries must be equal to prepare's or none (workflow 2.5).
  std::optional<QConfigMapping> qconfigMapping;
};

/// Replaces observers by quantize/dequantize pairs and weighted modules by reference modules, in place.
/// The prepared state stays in the model's meta for `lower`.
/// Errors: a model that prepare did not make; static observers without data, all named in one message, unless
/// context.allowUncalibrated; a scale that is not finite.
llvm::Error convertToReference(GraphModule &model, const ConvertOptions &options, PassContext &context);

} // namespace qfx

#endif // PASSES_CONVERT_CONVERT_H
