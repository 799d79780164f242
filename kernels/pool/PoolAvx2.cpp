// Pooling cells with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/pool/PoolTile.inc.h"

const qfx::kernels::PoolKernels qfx::kernels::pool_avx2 = qfx::kernels::makePoolKernels<qfx::kernels::Avx2Ops>();
