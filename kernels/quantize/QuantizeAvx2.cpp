// Float to codes and back with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/quantize/QuantizeTile.inc.h"

const qfx::kernels::QuantizeKernels qfx::kernels::quantize_avx2 =
    qfx::kernels::makeQuantizeKernels<qfx::kernels::Avx2Ops>();
