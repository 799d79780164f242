// Bilinear resizing of codes, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/resize/BilinearTile.inc.h"

const qfx::kernels::BilinearKernels qfx::kernels::bilinear_scalar =
    qfx::kernels::makeBilinearKernels<qfx::kernels::ScalarOps>();
