// Recurrent cells, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/recurrent/CellTile.inc.h"

const qfx::kernels::CellTable qfx::kernels::cell_f32_scalar = qfx::kernels::makeCellTable<qfx::kernels::ScalarOps>();
