// Observer loops, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/histogram/HistogramTile.inc.h"

const qfx::kernels::HistogramKernels qfx::kernels::histogram_scalar =
    qfx::kernels::makeHistogramKernels<qfx::kernels::ScalarOps>();
