// Float GEMM tiles for AVX-512: 12 rows of 32 columns, twenty-four accumulators.
#include "kernels/isa/Intrinsics.h"
#include "kernels/sgemm/SgemmTile.inc.h"

namespace qfx::kernels {
namespace {

struct Avx512 {
  using F = __m512;
  static constexpr int N = 16;
  static F load(const float *p) { return _mm512_loadu_ps(p); }
  static void store(float *p, F v) { _mm512_storeu_ps(p, v); }
  static F set(float v) { return _mm512_set1_ps(v); }
  static F broadcast(const float *p) { return _mm512_set1_ps(*p); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  // b where either is NaN; the masked forms with all lanes on, as g++ 12 warns inside the plain ones
  static F min(F a, F b) { return _mm512_mask_min_ps(a, 0xffff, a, b); }
  static F max(F a, F b) { return _mm512_mask_max_ps(a, 0xffff, a, b); }
};

} // namespace

const SgemmTileTable sgemm_f32_12x32_avx512 = {
    {&sgemmTile<Avx512, 1, 2, 1>, &sgemmTile<Avx512, 2, 2, 1>, &sgemmTile<Avx512, 3, 2, 1>, &sgemmTile<Avx512, 4, 2, 1>,
     &sgemmTile<Avx512, 5, 2, 1>, &sgemmTile<Avx512, 6, 2, 1>, &sgemmTile<Avx512, 7, 2, 1>, &sgemmTile<Avx512, 8, 2, 1>,
     &sgemmTile<Avx512, 9, 2, 1>, &sgemmTile<Avx512, 10, 2, 1>, &sgemmTile<Avx512, 11, 2, 1>,
     &sgemmTile<Avx512, 12, 2, 1>},
    &sgemmTile<Avx512, 1, 2, kSgemmWidePanels>};

} // namespace qfx::kernels
