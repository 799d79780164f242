// Float GEMM tiles without vectors: the oracle.
#include "kernels/sgemm/SgemmTile.inc.h"

namespace qfx::kernels {
namespace {

struct Scalar {
  using F = float;
  static constexpr int N = 1;
  static F load(const float *p) { return *p; }
  static void store(float *p, F v) { *p = v; }
  static F set(float v) { return v; }
  static F broadcast(const float *p) { return *p; }
  static F fma(F a, F b, F c) { return __builtin_fmaf(a, b, c); }
  static F min(F a, F b) { return a < b ? a : b; }
  static F max(F a, F b) { return a > b ? a : b; }
};

} // namespace

const SgemmTileTable sgemm_f32_4x8_scalar = {{&sgemmTile<Scalar, 1, 8, 1>, &sgemmTile<Scalar, 2, 8, 1>,
                                              &sgemmTile<Scalar, 3, 8, 1>, &sgemmTile<Scalar, 4, 8, 1>},
                                             &sgemmTile<Scalar, 1, 8, kSgemmWidePanels>};

} // namespace qfx::kernels
