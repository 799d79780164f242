// Float depthwise convolution with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/fconv/FdepthwiseTile.inc.h"

const qfx::kernels::FdepthwiseKernels qfx::kernels::fdepthwise_neon =
    qfx::kernels::makeFdepthwiseKernels<qfx::kernels::NeonOps>();
