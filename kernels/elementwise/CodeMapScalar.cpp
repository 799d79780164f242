// Table lookup and clamping of codes, one at a time.
#include "kernels/elementwise/CodeMapDetail.h"

namespace qfx::kernels {

static void applyLut(const uint8_t *src, uint8_t *dst, int64_t n, const CodeLut &lut) {
  for (int64_t i = 0; i < n; ++i)
    dst[i] = lut.entry[src[i]];
}

template <class T> static void clampRow(const T *src, T *dst, int64_t n, T lo, T hi) {
  for (int64_t i = 0; i < n; ++i) {
    T raised = src[i] < lo ? lo : src[i];
    dst[i] = raised > hi ? hi : raised;
  }
}

const CodeMapKernels code_map_scalar = {&applyLut, &clampRow<uint8_t>, &clampRow<int8_t>};

} // namespace qfx::kernels
