// GEMM tiles of AVX-VNNI: vpdpbusd on 256-bit registers.
#include "kernels/gemm/GemmTile.inc.h"

#include "kernels/gemm/GemmAvx2Ops.inc.h"

namespace {
namespace gemm {

struct AvxVnniDot {
  using A = __m256i;
  using B = __m256i;
  static constexpr int kStep = 4;
  static QFX_INLINE A loadA(const uint8_t *a) {
    int32_t codes;
    __builtin_memcpy(&codes, a, 4);
    return _mm256_set1_epi32(codes);
  }
  static QFX_INLINE B loadB(const int8_t *b, int) { return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(b)); }
  static QFX_INLINE __m256i dot(__m256i acc, A a, B b) {
#ifdef QFX_SIMDE
    return simde_mm256_dpbusd_epi32(acc, a, b);
#else
    // g++ 12 keeps the accumulators of a large tile on the stack when it sees the intrinsic.
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(a), "x"(b));
    return acc;
#endif
  }
};

template <int MR> QFX_INLINE void runRows(const GemmTile &tile) {
  tile.columns > 8 ? exactTile<Avx2Ops, AvxVnniDot, MR, 2>(tile) : exactTile<Avx2Ops, AvxVnniDot, MR, 1>(tile);
}

} // namespace gemm
} // namespace

void qfx::kernels::gemm_u8s8s32_6x16x4_avxvnni(int rows, const GemmTile &tile) {
  switch (rows) {
  case 1:
    return gemm::runRows<1>(tile);
  case 2:
    return gemm::runRows<2>(tile);
  case 3:
    return gemm::runRows<3>(tile);
  case 4:
    return gemm::runRows<4>(tile);
  case 5:
    return gemm::runRows<5>(tile);
  default:
    return gemm::runRows<6>(tile);
  }
}
