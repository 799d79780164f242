// Statistics of codes, and the selection of rows.
#include "kernels/norm/CodeNorm.h"

#include "kernels/norm/CodeNormDetail.h"
#include "kernels/simd/Select.h"

#include <algorithm>
#include <cmath>

namespace qfx::kernels {

static constexpr IsaRow<CodeNormKernels> kRows[] = {
#define QFX_CODE_NORM_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/norm/CodeNormKernels.def"
};

const CodeNormKernels &selectCodeNorm(Isa isa) { return selectLast(kRows, isa); }

NormStatistics makeNormStatistics(const CodeSums &sums, int64_t count, const QParams &params, double eps) {
  const float n = static_cast<float>(count), scale = static_cast<float>(params.scale);
  const float mu = static_cast<float>(sums.sum) / n;
  const float variance = std::max(static_cast<float>(sums.squares) / n - mu * mu, 0.0f);
  const float scaled = variance * scale * scale;
  return {mu - static_cast<float>(params.zeroPoint),
          static_cast<float>(static_cast<double>(scale) / std::sqrt(static_cast<double>(scaled) + eps))};
}

/// Codes whose squares are added in 32 bits before the sum grows to 64.
static constexpr int64_t kBlock = 1 << 14;

template <class T> CodeSums sumCodes(const T *src, int64_t n) {
  CodeSums sums;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    int32_t sum = 0, squares = 0;
    for (int64_t i = begin, end = std::min(n, begin + kBlock); i < end; ++i) {
      sum += src[i];
      squares += src[i] * src[i];
    }
    sums.sum += sum;
    sums.squares += squares;
  }
  return sums;
}

template <class T> void sumCodeRows(const T *src, int64_t rows, int64_t channels, CodeSums *sums) {
  for (int64_t r = 0; r < rows; ++r, src += channels)
    for (int64_t c = 0; c < channels; ++c) {
      sums[c].sum += src[c];
      sums[c].squares += src[c] * src[c];
    }
}

template CodeSums sumCodes(const uint8_t *, int64_t);
template CodeSums sumCodes(const int8_t *, int64_t);
template void sumCodeRows(const uint8_t *, int64_t, int64_t, CodeSums *);
template void sumCodeRows(const int8_t *, int64_t, int64_t, CodeSums *);

} // namespace qfx::kernels
