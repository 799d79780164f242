// Selects quantized batch norm rows and folds their constants.
#include "kernels/elementwise/QuantizedBatchNormDetail.h"
#include "kernels/simd/Select.h"

#include <cmath>

namespace qfx::kernels {

static constexpr IsaRow<QuantizedBatchNormKernels> kRows[] = {
#define QFX_QUANTIZED_BATCH_NORM_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/elementwise/QuantizedBatchNormKernels.def"
};

const QuantizedBatchNormKernels &selectQuantizedBatchNorm(Isa isa) { return selectLast(kRows, isa); }

void foldQuantizedBatchNorm(int64_t channels, const float *weight, const float *bias, const float *mean,
                            const float *var, float eps, const QParams &in, const QParams &out, float *alpha,
                            float *beta) {
  const double ratio = in.scale / out.scale;
  for (int64_t c = 0; c < channels; ++c) {
    const float invStd = static_cast<float>(1.0 / static_cast<double>(std::sqrt(var[c] + eps)));
    const float gain = invStd * weight[c];
    const float shifted = mean[c] * invStd * weight[c];
    alpha[c] = static_cast<float>(static_cast<double>(gain) * ratio);
    beta[c] = static_cast<float>(static_cast<double>(bias[c] - shifted) / out.scale);
  }
}

} // namespace qfx::kernels
