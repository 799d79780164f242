// The last step of every quantizing kernel: round half to even, add the zero point, clamp.  Included by tiles only.
#ifndef KERNELS_QUANTIZE_CODEROUNDER_INC_H
#define KERNELS_QUANTIZE_CODEROUNDER_INC_H

#include <cstdint>

namespace qfx::kernels {
namespace {

/// RNE(t) + z clamped to [lo, hi], done as a clamp of t to [lo - z, hi - z] (integers, so the same result and no
/// conversion can overflow): max comes first and returns its second argument on NaN, which gives lo.
/// lo, hi and z are 8-bit codes.
template <class Ops> struct CodeRounder {
  typename Ops::F low, high;
  typename Ops::I zeroPoint;
  CodeRounder(int32_t lo, int32_t hi, int32_t z)
      : low(Ops::set(static_cast<float>(lo - z))), high(Ops::set(static_cast<float>(hi - z))),
        zeroPoint(Ops::setInt(z)) {}
  typename Ops::I operator()(typename Ops::F t) const {
    return Ops::add(Ops::toInt(Ops::min(Ops::max(t, low), high)), zeroPoint);
  }
};

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_QUANTIZE_CODEROUNDER_INC_H
