// Float unary functions with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/elementwise/UnaryTile.inc.h"

const qfx::kernels::UnaryTable qfx::kernels::unary_f32_neon = qfx::kernels::makeUnaryTable<qfx::kernels::NeonOps>();
