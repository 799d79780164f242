// Float binary functions, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/elementwise/BinaryTile.inc.h"

const qfx::kernels::BinaryTable qfx::kernels::binary_f32_scalar =
    qfx::kernels::makeBinaryTable<qfx::kernels::ScalarOps>();
