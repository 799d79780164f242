// Depthwise tile of AVX-VNNI: one 256-bit vpdpbusd for four taps of eight channels.
#include "kernels/depthwise/DepthwiseTile.inc.h"

#include "kernels/depthwise/DepthwiseAvx2Ops.inc.h"

namespace {
namespace depthwise {

struct VnniOps : Avx2Ops {
  static QFX_INLINE Acc dot(Acc acc, Bytes dwords, const int8_t *weights) {
#ifdef QFX_SIMDE
    return simde_mm256_dpbusd_epi32(acc, dwords, loadWeights(weights));
#else
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(dwords), "x"(loadWeights(weights)));
    return acc;
#endif
  }
};

} // namespace depthwise
} // namespace

void qfx::kernels::depthwise_u8s8s32_32x4_avxvnni(const DepthwiseTile &tile) {
  depthwise::runTile<depthwise::VnniOps>(tile);
}
