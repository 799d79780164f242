// Reductions over a middle block of dimensions, built from rows.
#include "kernels/reduce/ReduceDetail.h"
#include "kernels/simd/Select.h"

#include <algorithm>
#include <cmath>

namespace qfx::kernels {

static constexpr IsaRow<ReduceKernels> kRows[] = {
#define QFX_REDUCE_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/reduce/ReduceKernels.def"
};

const ReduceKernels &selectReduce(Isa isa) { return selectLast(kRows, isa); }

static constexpr int64_t kInnerBlock = 128; // doubles on the stack

void reduceMiddle(const ReduceKernels &kernels, const float *src, float *dst, int64_t reduced, int64_t inner, bool mean,
                  int64_t begin, int64_t end) {
  const double divisor = mean ? static_cast<double>(reduced) : 1.0;
  for (int64_t o = begin; o < end; ++o) {
    const float *block = src + o * reduced * inner;
    if (inner == 1) {
      dst[o] = static_cast<float>(kernels.sum(block, reduced) / divisor);
      continue;
    }
    for (int64_t c = 0; c < inner; c += kInnerBlock) {
      int64_t count = std::min(kInnerBlock, inner - c);
      double sums[kInnerBlock];
      kernels.sumRows(block + c, reduced, inner, count, sums);
      for (int64_t j = 0; j < count; ++j)
        dst[o * inner + c + j] = static_cast<float>(sums[j] / divisor);
    }
  }
}

void softmaxMiddle(const ReduceKernels &kernels, const float *src, float *dst, int64_t n, int64_t inner, bool log,
                   int64_t begin, int64_t end, float *scratch) {
  auto row = log ? kernels.logSoftmax : kernels.softmax;
  for (int64_t o = begin; o < end; ++o) {
    if (inner == 1) {
      row(src + o * n, dst + o * n, n);
      continue;
    }
    for (int64_t c = 0; c < inner; ++c) {
      const float *s = src + o * n * inner + c;
      float *d = dst + o * n * inner + c;
      for (int64_t i = 0; i < n; ++i)
        scratch[i] = s[i * inner];
      row(scratch, scratch, n);
      for (int64_t i = 0; i < n; ++i)
        d[i * inner] = scratch[i];
    }
  }
}

void foldBatchNorm(int64_t channels, const float *weight, const float *bias, const float *mean, const float *var,
                   float eps, float *scale, float *shift) {
  for (int64_t c = 0; c < channels; ++c) {
    float invStd = 1.0f / std::sqrt(var[c] + eps);
    scale[c] = (weight ? weight[c] : 1.0f) * invStd;
    shift[c] = (bias ? bias[c] : 0.0f) - mean[c] * scale[c];
  }
}

} // namespace qfx::kernels
