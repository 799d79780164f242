// Selects quantized binary rows and prepares their constants.
#include "kernels/elementwise/QuantizedBinaryDetail.h"
#include "kernels/simd/Select.h"

namespace qfx::kernels {

static constexpr IsaRow<QuantizedBinaryKernels> kRows[] = {
#define QFX_QUANTIZED_BINARY_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/elementwise/QuantizedBinaryKernels.def"
};

const QuantizedBinaryKernels &selectQuantizedBinary(Isa isa) { return selectLast(kRows, isa); }

QuantizedAddParams makeQuantizedAddParams(const QParams &a, const QParams &b, const QParams &out, bool relu) {
  const float scaleA = static_cast<float>(a.scale), scaleB = static_cast<float>(b.scale);
  return {scaleA,
          -(scaleA * static_cast<float>(a.zeroPoint)),
          scaleB,
          -(scaleB * static_cast<float>(b.zeroPoint)),
          1.0f / static_cast<float>(out.scale),
          out.zeroPoint,
          relu};
}

QuantizedMulParams makeQuantizedMulParams(const QParams &a, const QParams &b, const QParams &out, bool relu) {
  const float product = static_cast<float>(a.scale) * static_cast<float>(b.scale);
  const float inv = 1.0f / static_cast<float>(out.scale);
  return {a.zeroPoint, b.zeroPoint, product * inv, out.zeroPoint, relu};
}

} // namespace qfx::kernels
