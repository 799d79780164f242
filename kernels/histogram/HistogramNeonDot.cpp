// Observer loops with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/histogram/HistogramTile.inc.h"

const qfx::kernels::HistogramKernels qfx::kernels::histogram_neon =
    qfx::kernels::makeHistogramKernels<qfx::kernels::NeonOps>();
