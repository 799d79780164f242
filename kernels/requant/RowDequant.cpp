// Selects the row functions of float results.
#include "kernels/requant/RowDequantDetail.h"
#include "kernels/simd/Select.h"

namespace qfx::kernels {

static constexpr IsaRow<RowDequantKernels> kRows[] = {
#define QFX_ROW_DEQUANT_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/requant/RowDequantKernels.def"
};

const RowDequantKernels &selectRowDequant(Isa isa) { return selectLast(kRows, isa); }

} // namespace qfx::kernels
