// Quantized add and mul with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/elementwise/QuantizedBinaryTile.inc.h"

const qfx::kernels::QuantizedBinaryKernels qfx::kernels::quantized_binary_neon =
    qfx::kernels::makeQuantizedBinaryKernels<qfx::kernels::NeonOps>();
