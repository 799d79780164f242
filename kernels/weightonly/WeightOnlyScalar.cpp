// Weight-only products, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/weightonly/WeightOnlyTile.inc.h"

const qfx::kernels::WeightOnlyTable qfx::kernels::weight_only_scalar =
    qfx::kernels::makeWeightOnlyTable<qfx::kernels::ScalarOps>();
