// Float binary functions with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/elementwise/BinaryTile.inc.h"

const qfx::kernels::BinaryTable qfx::kernels::binary_f32_neon = qfx::kernels::makeBinaryTable<qfx::kernels::NeonOps>();
