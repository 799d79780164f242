// Float to codes and back, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/quantize/QuantizeTile.inc.h"

const qfx::kernels::QuantizeKernels qfx::kernels::quantize_scalar =
    qfx::kernels::makeQuantizeKernels<qfx::kernels::ScalarOps>();
