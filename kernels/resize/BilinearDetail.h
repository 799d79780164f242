// The bilinear tables that each instruction set's file fills.
#ifndef KERNELS_RESIZE_BILINEARDETAIL_H
#define KERNELS_RESIZE_BILINEARDETAIL_H

#include "kernels/resize/Bilinear.h"

namespace qfx::kernels {

#define QFX_BILINEAR_TABLE(IsaName, Table) extern const BilinearKernels Table;
#include "kernels/resize/BilinearKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_RESIZE_BILINEARDETAIL_H
