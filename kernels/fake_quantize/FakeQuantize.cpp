// Selects fake-quantize rows; the rare forms, one element at a time.
#include "kernels/fake_quantize/FakeQuantizeDetail.h"
#include "kernels/simd/Select.h"

#include <cmath>

namespace qfx::kernels {

static constexpr IsaRow<FakeQuantizeKernels> kRows[] = {
#define QFX_FAKE_QUANTIZE_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/fake_quantize/FakeQuantizeKernels.def"
};

const FakeQuantizeKernels &selectFakeQuantize(Isa isa) { return selectLast(kRows, isa); }

float fakeQuantizeWide(float value, const FakeQuantizeParams &params, bool &inMask) {
  const float inverse = 1.0f / params.scale;
  const float code = static_cast<float>(params.zeroPoint) + std::nearbyint(value * inverse);
  inMask = static_cast<float>(params.quantMin) <= code && code <= static_cast<float>(params.quantMax);
  const double clamped = std::fmin(std::fmax(static_cast<double>(code), params.quantMin), params.quantMax);
  return static_cast<float>(static_cast<int64_t>(clamped) - params.zeroPoint) * params.scale;
}

float fakeQuantizeFloatZeroPoint(float value, float scale, float zeroPoint, int32_t quantMin, int32_t quantMax, bool &inMask) {
  const float code = std::nearbyint(std::fma(value, 1.0f / scale, zeroPoint));
  inMask = static_cast<float>(quantMin) <= code && code <= static_cast<float>(quantMax);
  const double clamped = std::fmin(std::fmax(static_cast<double>(code), quantMin), quantMax);
  return static_cast<float>((clamped - static_cast<double>(zeroPoint)) * static_cast<double>(scale));
}

} // namespace qfx::kernels
