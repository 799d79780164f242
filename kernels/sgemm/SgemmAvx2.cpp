// Float GEMM tiles for AVX2 with FMA: 6 rows of 16 columns, twelve accumulators.
#include "kernels/sgemm/SgemmTile.inc.h"

#include <immintrin.h>

namespace qfx::kernels {
namespace {

struct Avx2 {
  using F = __m256;
  static constexpr int N = 8;
  static F load(const float *p) { return _mm256_loadu_ps(p); }
  static void store(float *p, F v) { _mm256_storeu_ps(p, v); }
  static F set(float v) { return _mm256_set1_ps(v); }
  static F broadcast(const float *p) { return _mm256_broadcast_ss(p); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F min(F a, F b) { return _mm256_min_ps(a, b); } // b where either is NaN
  static F max(F a, F b) { return _mm256_max_ps(a, b); }
};

} // namespace

const SgemmTileTable sgemm_f32_6x16_avx2 = {{&sgemmTile<Avx2, 1, 2, 1>, &sgemmTile<Avx2, 2, 2, 1>,
                                             &sgemmTile<Avx2, 3, 2, 1>, &sgemmTile<Avx2, 4, 2, 1>,
                                             &sgemmTile<Avx2, 5, 2, 1>, &sgemmTile<Avx2, 6, 2, 1>},
                                            &sgemmTile<Avx2, 1, 2, kSgemmWidePanels>};

} // namespace qfx::kernels
