// Float unary functions, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/elementwise/UnaryTile.inc.h"

const qfx::kernels::UnaryTable qfx::kernels::unary_f32_scalar = qfx::kernels::makeUnaryTable<qfx::kernels::ScalarOps>();
