// Float results of rows of sums, with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/requant/RowDequantTile.inc.h"

const qfx::kernels::RowDequantKernels qfx::kernels::row_dequant_neon =
    qfx::kernels::makeRowDequantKernels<qfx::kernels::NeonOps>();
