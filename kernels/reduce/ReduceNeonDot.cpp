// Reductions and softmax with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/reduce/ReduceTile.inc.h"

const qfx::kernels::ReduceKernels qfx::kernels::reduce_neon = qfx::kernels::makeReduceKernels<qfx::kernels::NeonOps>();
