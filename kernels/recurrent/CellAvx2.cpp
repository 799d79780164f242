// Recurrent cells with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/recurrent/CellTile.inc.h"

const qfx::kernels::CellTable qfx::kernels::cell_f32_avx2 = qfx::kernels::makeCellTable<qfx::kernels::Avx2Ops>();
