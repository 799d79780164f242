// Quantized batch norm with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/elementwise/QuantizedBatchNormTile.inc.h"

const qfx::kernels::QuantizedBatchNormKernels qfx::kernels::quantized_batch_norm_avx2 =
    qfx::kernels::makeQuantizedBatchNormKernels<qfx::kernels::Avx2Ops>();
