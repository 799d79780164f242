// Bilinear resizing of codes with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/resize/BilinearTile.inc.h"

const qfx::kernels::BilinearKernels qfx::kernels::bilinear_neon =
    qfx::kernels::makeBilinearKernels<qfx::kernels::NeonOps>();
