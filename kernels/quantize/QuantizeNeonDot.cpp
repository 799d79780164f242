// Float to codes and back with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/quantize/QuantizeTile.inc.h"

const qfx::kernels::QuantizeKernels qfx::kernels::quantize_neon =
    qfx::kernels::makeQuantizeKernels<qfx::kernels::NeonOps>();
