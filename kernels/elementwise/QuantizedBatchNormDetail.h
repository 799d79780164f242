// The quantized batch norm tables that each instruction set's file fills.
#ifndef KERNELS_ELEMENTWISE_QUANTIZEDBATCHNORMDETAIL_H
#define KERNELS_ELEMENTWISE_QUANTIZEDBATCHNORMDETAIL_H

#include "kernels/elementwise/QuantizedBatchNorm.h"

namespace qfx::kernels {

#define QFX_QUANTIZED_BATCH_NORM_TABLE(IsaName, Table) extern const QuantizedBatchNormKernels Table;
#include "kernels/elementwise/QuantizedBatchNormKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_QUANTIZEDBATCHNORMDETAIL_H
