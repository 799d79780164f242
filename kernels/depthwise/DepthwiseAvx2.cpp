// Depthwise tile of AVX2: even and odd taps as int16, so that vpmaddwd is exact for every code.
#include "kernels/depthwise/DepthwiseTile.inc.h"

#include "kernels/depthwise/DepthwiseAvx2Ops.inc.h"

namespace {
namespace depthwise {

struct WideOps : Avx2Ops {
  static constexpr int kGroupBytes = 8; // four s16 weights of a channel
  static QFX_INLINE Acc dot(Acc acc, Bytes dwords, const char *weights) {
    __m256i even = _mm256_and_si256(dwords, _mm256_set1_epi16(0xff)), odd = _mm256_srli_epi16(dwords, 8);
    acc = _mm256_add_epi32(acc, _mm256_madd_epi16(even, loadWeights(weights)));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(odd, loadWeights(weights + 32)));
  }
};

} // namespace depthwise
} // namespace

void qfx::kernels::depthwise_u8s16s32_32x4_avx2(const DepthwiseTile &tile) { depthwise::runTile<depthwise::WideOps>(tile); }
