// Scale and zero point of dynamic quantization and of the fused fake-quantizer.
#ifndef BACKENDS_OBSERVE_CHOOSEQUANTIZATIONPARAMS_H
#define BACKENDS_OBSERVE_CHOOSEQUANTIZATIONPARAMS_H

#include "llvm/Support/Error.h"

#include <cstdint>

namespace qfx {

struct ChosenQParams {
  double scale;
  int32_t zeroPoint;
};

struct ChooseOptions {
  bool preserveSparsity = false;       ///< symmetric schemes
  bool forceScalePowerOfTwo = false;
  bool reduceRange = false;            ///< halves the code range, rounding toward zero
};

/// numerics 2.6, bit for bit the portable ATen version.
/// \param min, max    float32 range of the data, min <= max, finite; else an error (NaN and infinities included).
/// \param qmin, qmax  codes, qmin < qmax after halving; else an error.
llvm::Expected<ChosenQParams> chooseQuantizationParams(float min, float max, int32_t qmin, int32_t qmax,
                                                       ChooseOptions options = {});

} // namespace qfx

#endif // BACKENDS_OBSERVE_CHOOSEQUANTIZATIONPARAMS_H
