// The quantized binary tables that each instruction set's file fills.
#ifndef KERNELS_ELEMENTWISE_QUANTIZEDBINARYDETAIL_H
#define KERNELS_ELEMENTWISE_QUANTIZEDBINARYDETAIL_H

#include "kernels/elementwise/QuantizedBinary.h"

namespace qfx::kernels {

#define QFX_QUANTIZED_BINARY_TABLE(IsaName, Table) extern const QuantizedBinaryKernels Table;
#include "kernels/elementwise/QuantizedBinaryKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_QUANTIZEDBINARYDETAIL_H
