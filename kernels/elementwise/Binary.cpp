// Selects float binary functions.
#include "kernels/elementwise/BinaryDetail.h"
#include "kernels/simd/Select.h"

namespace qfx::kernels {

static constexpr IsaRow<BinaryTable> kRows[] = {
#define QFX_BINARY_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/elementwise/BinaryKernels.def"
};

BinaryFn selectBinary(BinaryKind kind, Isa isa) { return selectLast(kRows, isa).rows[static_cast<int>(kind)]; }

} // namespace qfx::kernels
