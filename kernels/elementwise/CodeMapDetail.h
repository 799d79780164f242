// The code map tables that each instruction set's file fills.
#ifndef KERNELS_ELEMENTWISE_CODEMAPDETAIL_H
#define KERNELS_ELEMENTWISE_CODEMAPDETAIL_H

#include "kernels/elementwise/CodeLut.h"

namespace qfx::kernels {

#define QFX_CODE_MAP_TABLE(IsaName, Table) extern const CodeMapKernels Table;
#include "kernels/elementwise/CodeMapKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_CODEMAPDETAIL_H
