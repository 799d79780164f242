// The transpose tables that each instruction set's file fills.
#ifndef KERNELS_LAYOUT_LAYOUTDETAIL_H
#define KERNELS_LAYOUT_LAYOUTDETAIL_H

#include "kernels/layout/Layout.h"

namespace qfx::kernels {

#define QFX_TRANSPOSE_TABLE(IsaName, Table) extern const TransposeKernels Table;
#include "kernels/layout/TransposeKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_LAYOUT_LAYOUTDETAIL_H
