// Float depthwise convolution with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/fconv/FdepthwiseTile.inc.h"

const qfx::kernels::FdepthwiseKernels qfx::kernels::fdepthwise_avx2 =
    qfx::kernels::makeFdepthwiseKernels<qfx::kernels::Avx2Ops>();
