// Quantized add and mul, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/elementwise/QuantizedBinaryTile.inc.h"

const qfx::kernels::QuantizedBinaryKernels qfx::kernels::quantized_binary_scalar =
    qfx::kernels::makeQuantizedBinaryKernels<qfx::kernels::ScalarOps>();
