// Reductions and softmax, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/reduce/ReduceTile.inc.h"

const qfx::kernels::ReduceKernels qfx::kernels::reduce_scalar =
    qfx::kernels::makeReduceKernels<qfx::kernels::ScalarOps>();
