// The tables of row functions that each instruction set's file fills.
#ifndef KERNELS_REQUANT_ROWDEQUANTDETAIL_H
#define KERNELS_REQUANT_ROWDEQUANTDETAIL_H

#include "kernels/requant/RowDequant.h"

namespace qfx::kernels {

#define QFX_ROW_DEQUANT_TABLE(IsaName, Table) extern const RowDequantKernels Table;
#include "kernels/requant/RowDequantKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_REQUANT_ROWDEQUANTDETAIL_H
