// Pooling cells, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/pool/PoolTile.inc.h"

const qfx::kernels::PoolKernels qfx::kernels::pool_scalar = qfx::kernels::makePoolKernels<qfx::kernels::ScalarOps>();
