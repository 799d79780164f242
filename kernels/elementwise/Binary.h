// Float functions of two arguments, applied to rows of elements, with a clamp at the end for fused activations.
#ifndef KERNELS_ELEMENTWISE_BINARY_H
#define KERNELS_ELEMENTWISE_BINARY_H

#include "kernels/isa/Isa.h"

#include <cstdint>

namespace qfx::kernels {

/// The functions of BinaryOps.def.
enum class BinaryKind : uint8_t {
#define QFX_BINARY(Kind, Formula) Kind,
#include "kernels/elementwise/BinaryOps.def"
};

inline constexpr int kNumBinaryKinds = 0
#define QFX_BINARY(Kind, Formula) +1
#include "kernels/elementwise/BinaryOps.def"
    ;

/// alpha scales b first (one rounding; 1 is exact); the result is min(max(y, lo), hi), NaN passing through.
struct BinaryParams {
  float alpha = 1;
  float lo = -__builtin_inff(), hi = __builtin_inff(); // lo = 0 is a fused relu, [0, 6] relu6
};

/// dst[i] = f(a[i * aStep], b[i * bStep]) for i in [0, n), f32; steps are 0 or 1.  dst may equal a or b exactly (with
/// step 1), otherwise no overlap.  Results do not depend on position or instruction set; T2 needs no more than the
/// one rounding per written operation.  Broadcasting over whole tensors: Broadcast.h.
using BinaryFn = void (*)(const float *a, int aStep, const float *b, int bStep, float *dst, int64_t n,
                          const BinaryParams &params);

/// \returns the row function of `kind` for `isa`; ask once and keep it.
BinaryFn selectBinary(BinaryKind kind, Isa isa = getCurrentIsa());

} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_BINARY_H
