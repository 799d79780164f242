// Float depthwise convolution, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/fconv/FdepthwiseTile.inc.h"

const qfx::kernels::FdepthwiseKernels qfx::kernels::fdepthwise_scalar =
    qfx::kernels::makeFdepthwiseKernels<qfx::kernels::ScalarOps>();
