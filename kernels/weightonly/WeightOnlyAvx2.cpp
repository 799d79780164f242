// Weight-only products with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/weightonly/WeightOnlyTile.inc.h"

const qfx::kernels::WeightOnlyTable qfx::kernels::weight_only_avx2 =
    qfx::kernels::makeWeightOnlyTable<qfx::kernels::Avx2Ops>();
