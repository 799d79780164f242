// The reduction tables that each instruction set's file fills.
#ifndef KERNELS_REDUCE_REDUCEDETAIL_H
#define KERNELS_REDUCE_REDUCEDETAIL_H

#include "kernels/reduce/Reduce.h"

namespace qfx::kernels {

#define QFX_REDUCE_TABLE(IsaName, Table) extern const ReduceKernels Table;
#include "kernels/reduce/ReduceKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_REDUCE_REDUCEDETAIL_H
