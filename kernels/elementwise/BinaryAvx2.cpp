// Float binary functions with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/elementwise/BinaryTile.inc.h"

const qfx::kernels::BinaryTable qfx::kernels::binary_f32_avx2 = qfx::kernels::makeBinaryTable<qfx::kernels::Avx2Ops>();
