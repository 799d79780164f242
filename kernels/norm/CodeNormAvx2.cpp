// Normalization of codes with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/norm/CodeNormTile.inc.h"

const qfx::kernels::CodeNormKernels qfx::kernels::code_norm_avx2 =
    qfx::kernels::makeCodeNormKernels<qfx::kernels::Avx2Ops>();
