// ATen's cascade summation of float32, lane for lane: searches compare sums, so the order of additions matters.
#include "backends/observe/HistogramMathDetail.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace qfx {

namespace {
constexpr size_t kLanes = 8, kAccumulators = 4, kLevels = 4;
constexpr size_t kRowElems = kLanes * kAccumulators;
using Row = float[kRowElems];

void addTo(Row &target, const float *source) {
  for (size_t i = 0; i < kRowElems; ++i)
    target[i] += source[i];
}
} // namespace

float sumLikeTorch(llvm::ArrayRef<float> values) {
  size_t numVectors = values.size() / kLanes, numRows = numVectors / kAccumulators;
  if (numVectors == 0) {
    float sum = 0;
    for (float value : values)
      sum += value;
    return sum;
  }
  Row levels[kLevels] = {};
  size_t levelPower = std::max<size_t>(4, llvm::Log2_64_Ceil(std::max<size_t>(numRows, 1)) / kLevels);
  size_t levelStep = size_t(1) << levelPower, levelMask = levelStep - 1;
  size_t row = 0;
  while (row + levelStep <= numRows) {
    for (size_t end = row + levelStep; row < end; ++row)
      addTo(levels[0], values.data() + row * kRowElems);
    for (size_t j = 1; j < kLevels; ++j) {
      addTo(levels[j], levels[j - 1]);
      std::fill(std::begin(levels[j - 1]), std::end(levels[j - 1]), 0.0f);
      if (row & (levelMask << (j * levelPower)))
        break;
    }
  }
  for (; row < numRows; ++row)
    addTo(levels[0], values.data() + row * kRowElems);
  for (size_t j = 1; j < kLevels; ++j)
    addTo(levels[0], levels[j]);
  // Leftover vectors go to the first accumulator, then the accumulators are added up.
  float(&lanes)[kRowElems] = levels[0];
  for (size_t v = numRows * kAccumulators; v < numVectors; ++v)
    for (size_t i = 0; i < kLanes; ++i)
      lanes[i] += values[v * kLanes + i];
  for (size_t k = 1; k < kAccumulators; ++k)
    for (size_t i = 0; i < kLanes; ++i)
      lanes[i] += lanes[k * kLanes + i];
  float sum = 0;
  for (size_t i = numVectors * kLanes; i < values.size(); ++i)
    sum += values[i];
  for (size_t i = 0; i < kLanes; ++i)
    sum += lanes[i];
  return sum;
}

} // namespace qfx
