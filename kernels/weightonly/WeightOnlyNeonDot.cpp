// Weight-only products with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/weightonly/WeightOnlyTile.inc.h"

const qfx::kernels::WeightOnlyTable qfx::kernels::weight_only_neon =
    qfx::kernels::makeWeightOnlyTable<qfx::kernels::NeonOps>();
