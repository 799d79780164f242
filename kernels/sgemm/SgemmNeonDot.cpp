// Float GEMM tiles for NEON: 6 rows of 16 columns, twenty-four accumulators.
#include "kernels/sgemm/SgemmTile.inc.h"

#include <arm_neon.h>

namespace qfx::kernels {
namespace {

struct Neon {
  using F = float32x4_t;
  static constexpr int N = 4;
  static F load(const float *p) { return vld1q_f32(p); }
  static void store(float *p, F v) { vst1q_f32(p, v); }
  static F set(float v) { return vdupq_n_f32(v); }
  static F broadcast(const float *p) { return vld1q_dup_f32(p); }
  static F fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
  static F min(F a, F b) { return vbslq_f32(vcltq_f32(a, b), a, b); } // b where either is NaN
  static F max(F a, F b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
};

} // namespace

const SgemmTileTable sgemm_f32_6x16_neon = {{&sgemmTile<Neon, 1, 4, 1>, &sgemmTile<Neon, 2, 4, 1>,
                                             &sgemmTile<Neon, 3, 4, 1>, &sgemmTile<Neon, 4, 4, 1>,
                                             &sgemmTile<Neon, 5, 4, 1>, &sgemmTile<Neon, 6, 4, 1>},
                                            &sgemmTile<Neon, 1, 4, kSgemmWidePanels>};

} // namespace qfx::kernels
