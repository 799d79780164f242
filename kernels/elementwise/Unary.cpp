// Selects float unary functions.
#include "kernels/elementwise/UnaryDetail.h"
#include "kernels/simd/Select.h"

namespace qfx::kernels {

static constexpr IsaRow<UnaryTable> kRows[] = {
#define QFX_UNARY_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/elementwise/UnaryKernels.def"
};

UnaryFn selectUnary(UnaryKind kind, Isa isa) { return selectLast(kRows, isa).rows[static_cast<int>(kind)]; }

const char *getUnaryFormula(UnaryKind kind) {
  static constexpr const char *kFormulas[] = {
#define QFX_UNARY(Kind, Formula) Formula,
#include "kernels/elementwise/UnaryOps.def"
  };
  return kFormulas[static_cast<int>(kind)];
}

} // namespace qfx::kernels
