// The fake-quantize tables that each instruction set's file fills.
#ifndef KERNELS_FAKE_QUANTIZE_FAKEQUANTIZEDETAIL_H
#define KERNELS_FAKE_QUANTIZE_FAKEQUANTIZEDETAIL_H

#include "kernels/fake_quantize/FakeQuantize.h"

namespace qfx::kernels {

#define QFX_FAKE_QUANTIZE_TABLE(IsaName, Table) extern const FakeQuantizeKernels Table;
#include "kernels/fake_quantize/FakeQuantizeKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_FAKE_QUANTIZE_FAKEQUANTIZEDETAIL_H
