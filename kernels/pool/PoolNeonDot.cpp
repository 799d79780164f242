// Pooling cells with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/pool/PoolTile.inc.h"

const qfx::kernels::PoolKernels qfx::kernels::pool_neon = qfx::kernels::makePoolKernels<qfx::kernels::NeonOps>();
