// The numeric pieces of HistogramObserver; private to observe/.
#ifndef BACKENDS_OBSERVE_HISTOGRAMMATHDETAIL_H
#define BACKENDS_OBSERVE_HISTOGRAMMATHDETAIL_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace qfx {

/// torch.sum of float32 in the order of ATen's cascade sum with 8 lanes (numerics 3.8 `fsum`).
float sumLikeTorch(llvm::ArrayRef<float> values);

/// torch.linspace(low, high, count) in float32, count >= 2: numerics 3.7 with fused multiply-adds, as torch 2.13 computes it on x86.
std::vector<float> linspaceLikeTorch(float low, float high, int64_t count);

/// The counts of `histogram` over [oldLow, oldHigh] spread over as many bins of [newLow, newHigh] (numerics 3.7 `upscale`).
/// \param histogram  f32 [bins], bins >= 1; oldLow < oldHigh, newLow <= oldLow, newHigh >= oldHigh.
std::vector<float> rescaleHistogram(llvm::ArrayRef<float> histogram, float oldLow, float oldHigh, float newLow,
                                    float newHigh);

/// The non-linear parameter search of numerics 3.8: the range whose quantization error is smallest.
/// \param numLevels  codes of the target dtype (256, 65536 or 2^32).
std::pair<float, float> searchHistogramRange(llvm::ArrayRef<float> histogram, float low, float high, double numLevels);

/// `qerr` of numerics 3.8: error norm when bins start..end are mapped onto `numLevels` levels.
class QuantizationError {
public:
  QuantizationError(llvm::ArrayRef<float> histogram, float low, float high, double numLevels);
  double compute(int64_t start, int64_t end);

private:
  llvm::ArrayRef<float> histogram;
  double binWidth, numLevels;
  std::vector<float> density, norm; // reused between calls
};

} // namespace qfx

#endif // BACKENDS_OBSERVE_HISTOGRAMMATHDETAIL_H
