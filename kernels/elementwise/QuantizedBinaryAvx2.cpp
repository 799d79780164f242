// Quantized add and mul with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/elementwise/QuantizedBinaryTile.inc.h"

const qfx::kernels::QuantizedBinaryKernels qfx::kernels::quantized_binary_avx2 =
    qfx::kernels::makeQuantizedBinaryKernels<qfx::kernels::Avx2Ops>();
