// Observer loops with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/histogram/HistogramTile.inc.h"

const qfx::kernels::HistogramKernels qfx::kernels::histogram_avx2 =
    qfx::kernels::makeHistogramKernels<qfx::kernels::Avx2Ops>();
