// The table of cell functions that each instruction set's file fills.
#ifndef KERNELS_RECURRENT_CELLDETAIL_H
#define KERNELS_RECURRENT_CELLDETAIL_H

#include "kernels/recurrent/Cell.h"

namespace qfx::kernels {

struct CellTable {
  CellFn byKind[kNumCellKinds];
};

#define QFX_CELL_TABLE(IsaName, Table) extern const CellTable Table;
#include "kernels/recurrent/CellKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_RECURRENT_CELLDETAIL_H
