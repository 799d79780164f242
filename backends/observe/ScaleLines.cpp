// Scaling weights where they are read: a third of all passes went into memory for the results.
#include "backends/observe/ScaleLines.h"

#include "kernels/elementwise/Binary.h"

#include <algorithm>
#include <cassert>

namespace qfx {

Tensor scaleLines(const Tensor &input, std::vector<float> factors) {
  const int64_t numElements = input.getNumElements();
  assert(!factors.empty() && numElements % static_cast<int64_t>(factors.size()) == 0 && "lines of unequal length");
  const int64_t length = numElements / static_cast<int64_t>(factors.size());
  return Tensor::computed(DType::Float32, input.getSizes(), [input, length, factors = std::move(factors)](size_t offset, MutableBytes out) {
    static const kernels::BinaryFn multiply = kernels::selectBinary(kernels::BinaryKind::Mul);
    const float *src = input.getData<float>().data();
    float *dst = reinterpret_cast<float *>(out.data());
    auto first = static_cast<int64_t>(offset / sizeof(float)), end = first + static_cast<int64_t>(out.size() / sizeof(float));
    while (first < end) {
      int64_t line = first / length, count = std::min((line + 1) * length, end) - first;
      multiply(src + first, 1, &factors[static_cast<size_t>(line)], 0, dst, count, {});
      first += count;
      dst += count;
    }
  });
}

} // namespace qfx
