// The pooling tables that each instruction set's file fills.
#ifndef KERNELS_POOL_POOLDETAIL_H
#define KERNELS_POOL_POOLDETAIL_H

#include "kernels/pool/Pool.h"

namespace qfx::kernels {

#define QFX_POOL_TABLE(IsaName, Table) extern const PoolKernels Table;
#include "kernels/pool/PoolKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_POOL_POOLDETAIL_H
