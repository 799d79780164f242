// Selects the weight-only products.
#include "kernels/simd/Select.h"
#include "kernels/weightonly/WeightOnlyDetail.h"

namespace qfx::kernels {

static constexpr IsaRow<WeightOnlyTable> kRows[] = {
#define QFX_WEIGHT_ONLY_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/weightonly/WeightOnlyKernels.def"
};

WeightOnlyFn selectWeightOnly(int bits, Isa isa) {
  assert((bits == 8 || bits == 4) && "weights have 8 or 4 bits");
  const WeightOnlyTable &table = selectLast(kRows, isa);
  return bits == 8 ? table.bits8 : table.bits4;
}

} // namespace qfx::kernels
