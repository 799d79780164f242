// Float results of rows of sums, with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/requant/RowDequantTile.inc.h"

const qfx::kernels::RowDequantKernels qfx::kernels::row_dequant_avx2 =
    qfx::kernels::makeRowDequantKernels<qfx::kernels::Avx2Ops>();
