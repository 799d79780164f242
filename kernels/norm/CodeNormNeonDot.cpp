// Normalization of codes with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/norm/CodeNormTile.inc.h"

const qfx::kernels::CodeNormKernels qfx::kernels::code_norm_neon =
    qfx::kernels::makeCodeNormKernels<qfx::kernels::NeonOps>();
