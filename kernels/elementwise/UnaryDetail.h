// The table of unary row functions that each instruction set's file fills.
#ifndef KERNELS_ELEMENTWISE_UNARYDETAIL_H
#define KERNELS_ELEMENTWISE_UNARYDETAIL_H

#include "kernels/elementwise/Unary.h"

namespace qfx::kernels {

struct UnaryTable {
  UnaryFn rows[kNumUnaryKinds];
};

#define QFX_UNARY_TABLE(IsaName, Table) extern const UnaryTable Table;
#include "kernels/elementwise/UnaryKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_UNARYDETAIL_H
