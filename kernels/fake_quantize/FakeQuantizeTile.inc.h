// Fake quantization over rows of elements.
#ifndef KERNELS_FAKE_QUANTIZE_FAKEQUANTIZETILE_INC_H
#define KERNELS_FAKE_QUANTIZE_FAKEQUANTIZETILE_INC_H

#include "kernels/fake_quantize/FakeQuantizeDetail.h"
#include "kernels/simd/Rows.inc.h"

namespace qfx::kernels {
namespace {

template <class Ops> struct FakeQuantizer {
  using F = typename Ops::F;
  F scale, inverse, zeroPoint, low, high;

  explicit FakeQuantizer(const FakeQuantizeParams &params)
      : scale(Ops::set(params.scale)), inverse(Ops::set(1.0f / params.scale)),
        zeroPoint(Ops::set(static_cast<float>(params.zeroPoint))), low(Ops::set(static_cast<float>(params.quantMin))),
        high(Ops::set(static_cast<float>(params.quantMax))) {}

  /// The code before clamping.
  F codeOf(F x) const { return zeroPoint + Ops::rne(x * inverse); }
  /// max and min give their second operand where the first is NaN.
  F valueOf(F x) const { return (Ops::min(Ops::max(codeOf(x), low), high) - zeroPoint) * scale; }
};

template <class Ops> void fakeQuantizeRow(const float *src, float *dst, int64_t n, const FakeQuantizeParams &params) {
  const FakeQuantizer<Ops> quantizer(params);
  mapRow<Ops>(src, dst, n, [&](typename Ops::F x) { return quantizer.valueOf(x); });
}

template <class Ops> void fakeQuantizeMaskRow(const float *src, uint8_t *mask, int64_t n, const FakeQuantizeParams &params) {
  const FakeQuantizer<Ops> quantizer(params);
  floatToCodeRow<Ops, uint8_t>(src, mask, n, [&](typename Ops::F x) {
    auto code = quantizer.codeOf(x);
    return Ops::selectInt(Ops::both(Ops::lessEqual(quantizer.low, code), Ops::lessEqual(code, quantizer.high)), Ops::setInt(1),
                          Ops::setInt(0));
  });
}

template <class Ops> constexpr FakeQuantizeKernels makeFakeQuantizeKernels() {
  return {&fakeQuantizeRow<Ops>, &fakeQuantizeMaskRow<Ops>};
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_FAKE_QUANTIZE_FAKEQUANTIZETILE_INC_H
