// The quantize tables that each instruction set's file fills.
#ifndef KERNELS_QUANTIZE_QUANTIZEDETAIL_H
#define KERNELS_QUANTIZE_QUANTIZEDETAIL_H

#include "kernels/quantize/Quantize.h"

namespace qfx::kernels {

#define QFX_QUANTIZE_TABLE(IsaName, Table) extern const QuantizeKernels Table;
#include "kernels/quantize/QuantizeKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_QUANTIZE_QUANTIZEDETAIL_H
