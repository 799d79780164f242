// Selects code map rows.
#include "kernels/elementwise/CodeMapDetail.h"
#include "kernels/simd/Select.h"

namespace qfx::kernels {

static constexpr IsaRow<CodeMapKernels> kRows[] = {
#define QFX_CODE_MAP_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/elementwise/CodeMapKernels.def"
};

const CodeMapKernels &selectCodeMap(Isa isa) { return selectLast(kRows, isa); }

} // namespace qfx::kernels
