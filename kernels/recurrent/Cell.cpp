// Selects the elementwise part of recurrent steps.
#include "kernels/recurrent/CellDetail.h"
#include "kernels/simd/Select.h"

namespace qfx::kernels {

static constexpr IsaRow<CellTable> kRows[] = {
#define QFX_CELL_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/recurrent/CellKernels.def"
};

CellFn selectCell(CellKind kind, Isa isa) { return selectLast(kRows, isa).byKind[static_cast<int>(kind)]; }

} // namespace qfx::kernels
