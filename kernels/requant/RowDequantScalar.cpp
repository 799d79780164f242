// Float results of rows of sums, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/requant/RowDequantTile.inc.h"

const qfx::kernels::RowDequantKernels qfx::kernels::row_dequant_scalar =
    qfx::kernels::makeRowDequantKernels<qfx::kernels::ScalarOps>();
