// The table of binary row functions that each instruction set's file fills.
#ifndef KERNELS_ELEMENTWISE_BINARYDETAIL_H
#define KERNELS_ELEMENTWISE_BINARYDETAIL_H

#include "kernels/elementwise/Binary.h"

namespace qfx::kernels {

struct BinaryTable {
  BinaryFn rows[kNumBinaryKinds];
};

#define QFX_BINARY_TABLE(IsaName, Table) extern const BinaryTable Table;
#include "kernels/elementwise/BinaryKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_BINARYDETAIL_H
