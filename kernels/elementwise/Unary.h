// Float functions of one argument, applied to rows of elements.
#ifndef KERNELS_ELEMENTWISE_UNARY_H
#define KERNELS_ELEMENTWISE_UNARY_H

#include "kernels/isa/Isa.h"

#include <cstdint>

namespace qfx::kernels {

/// The functions of UnaryOps.def.
enum class UnaryKind : uint8_t {
#define QFX_UNARY(Kind, Formula) Kind,
#include "kernels/elementwise/UnaryOps.def"
};

inline constexpr int kNumUnaryKinds = 0
#define QFX_UNARY(Kind, Formula) +1
#include "kernels/elementwise/UnaryOps.def"
    ;

/// Constants of a function; UnaryOps.def says which fields it reads.
struct UnaryParams {
  float a = 0, b = 0, c = 1;
};

/// dst[i] = f(src[i]) for i in [0, n), f32; dst may equal src, otherwise no overlap.  Any value is legal: NaN gives NaN
/// (Sign excepted), infinities their limits.  An element's result does not depend on its position or on the
/// instruction set; transcendental functions are within 3 ulp where the result is normal (Gelu, Mish, Tanhshrink,
/// LogSigmoid: 1e-6 of max(1, |x|)).  Exp, Log, Erf: polynomials of Moshier's Cephes and of N. Juffa.
using UnaryFn = void (*)(const float *src, float *dst, int64_t n, const UnaryParams &params);

/// \returns the row function of `kind` for `isa`; ask once and keep it.
UnaryFn selectUnary(UnaryKind kind, Isa isa = getCurrentIsa());

/// The formula text of UnaryOps.def.
const char *getUnaryFormula(UnaryKind kind);

} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_UNARY_H
