// Recurrent cells with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/recurrent/CellTile.inc.h"

const qfx::kernels::CellTable qfx::kernels::cell_f32_neon = qfx::kernels::makeCellTable<qfx::kernels::NeonOps>();
