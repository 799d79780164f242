// Source positions of resizing, and the selection of rows.
#include "kernels/resize/Bilinear.h"

#include "kernels/resize/BilinearDetail.h"
#include "kernels/simd/Select.h"

#include <algorithm>
#include <cmath>

namespace qfx::kernels {

static constexpr IsaRow<BilinearKernels> kRows[] = {
#define QFX_BILINEAR_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/resize/BilinearKernels.def"
};

const BilinearKernels &selectBilinear(Isa isa) { return selectLast(kRows, isa); }

ResizeSource getBilinearSource(int64_t i, int64_t inSize, float ratio, bool alignCorners) {
  const float index = static_cast<float>(i);
  const float x = alignCorners ? ratio * index : std::max(ratio * (index + 0.5f) - 0.5f, 0.0f);
  ResizeSource source;
  source.first = std::min<int64_t>(static_cast<int64_t>(x), inSize - 1);
  source.second = source.first + (source.first < inSize - 1 ? 1 : 0);
  source.w1 = x - static_cast<float>(source.first);
  source.w0 = 1.0f - source.w1;
  return source;
}

int64_t getNearestSource(int64_t i, int64_t inSize, float ratio, bool exact) {
  const float x = (static_cast<float>(i) + (exact ? 0.5f : 0.0f)) * ratio;
  return std::min<int64_t>(static_cast<int64_t>(std::floor(x)), inSize - 1);
}

} // namespace qfx::kernels
