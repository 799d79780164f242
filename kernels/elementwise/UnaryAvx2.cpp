// Float unary functions with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/elementwise/UnaryTile.inc.h"

const qfx::kernels::UnaryTable qfx::kernels::unary_f32_avx2 = qfx::kernels::makeUnaryTable<qfx::kernels::Avx2Ops>();
