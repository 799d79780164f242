// Bilinear resizing of codes with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/resize/BilinearTile.inc.h"

const qfx::kernels::BilinearKernels qfx::kernels::bilinear_avx2 =
    qfx::kernels::makeBilinearKernels<qfx::kernels::Avx2Ops>();
