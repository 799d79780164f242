// Quantized batch norm, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/elementwise/QuantizedBatchNormTile.inc.h"

const qfx::kernels::QuantizedBatchNormKernels qfx::kernels::quantized_batch_norm_scalar =
    qfx::kernels::makeQuantizedBatchNormKernels<qfx::kernels::ScalarOps>();
