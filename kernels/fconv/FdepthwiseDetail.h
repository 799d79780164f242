// The depthwise tables that each instruction set's file fills.
#ifndef KERNELS_FCONV_FDEPTHWISEDETAIL_H
#define KERNELS_FCONV_FDEPTHWISEDETAIL_H

#include "kernels/fconv/Fdepthwise.h"

namespace qfx::kernels {

#define QFX_FDEPTHWISE_TABLE(IsaName, Table) extern const FdepthwiseKernels Table;
#include "kernels/fconv/FdepthwiseKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_FCONV_FDEPTHWISEDETAIL_H
