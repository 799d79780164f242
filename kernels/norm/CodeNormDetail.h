// The code normalization tables that each instruction set's file fills.
#ifndef KERNELS_NORM_CODENORMDETAIL_H
#define KERNELS_NORM_CODENORMDETAIL_H

#include "kernels/norm/CodeNorm.h"

namespace qfx::kernels {

#define QFX_CODE_NORM_TABLE(IsaName, Table) extern const CodeNormKernels Table;
#include "kernels/norm/CodeNormKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_NORM_CODENORMDETAIL_H
