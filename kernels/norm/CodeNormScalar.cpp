// Normalization of codes, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/norm/CodeNormTile.inc.h"

const qfx::kernels::CodeNormKernels qfx::kernels::code_norm_scalar =
    qfx::kernels::makeCodeNormKernels<qfx::kernels::ScalarOps>();
