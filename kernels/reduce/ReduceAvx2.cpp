// Reductions and softmax with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/reduce/ReduceTile.inc.h"

const qfx::kernels::ReduceKernels qfx::kernels::reduce_avx2 = qfx::kernels::makeReduceKernels<qfx::kernels::Avx2Ops>();
