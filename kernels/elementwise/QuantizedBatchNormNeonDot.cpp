// Quantized batch norm with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/elementwise/QuantizedBatchNormTile.inc.h"

const qfx::kernels::QuantizedBatchNormKernels qfx::kernels::quantized_batch_norm_neon =
    qfx::kernels::makeQuantizedBatchNormKernels<qfx::kernels::NeonOps>();
