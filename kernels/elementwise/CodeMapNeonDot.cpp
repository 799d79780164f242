// Table lookup and clamping of 16 codes at a time with NEON's four-register lookups.
#include "kernels/elementwise/CodeMapDetail.h"

#include <arm_neon.h>

namespace qfx::kernels {
namespace {

void applyLut(const uint8_t *src, uint8_t *dst, int64_t n, const CodeLut &lut) {
  uint8x16x4_t quarter[4];
  for (int q = 0; q < 4; ++q)
    for (int r = 0; r < 4; ++r)
      quarter[q].val[r] = vld1q_u8(lut.entry + 64 * q + 16 * r);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    uint8x16_t x = vld1q_u8(src + i), y = vqtbl4q_u8(quarter[0], x); // 0 where the index is out of the table
    for (int q = 1; q < 4; ++q)
      y = vqtbx4q_u8(y, quarter[q], vsubq_u8(x, vdupq_n_u8(static_cast<uint8_t>(64 * q))));
    vst1q_u8(dst + i, y);
  }
  for (; i < n; ++i)
    dst[i] = lut.entry[src[i]];
}

void clampU8(const uint8_t *src, uint8_t *dst, int64_t n, uint8_t lo, uint8_t hi) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    vst1q_u8(dst + i, vminq_u8(vmaxq_u8(vld1q_u8(src + i), vdupq_n_u8(lo)), vdupq_n_u8(hi)));
  for (; i < n; ++i) {
    uint8_t raised = src[i] < lo ? lo : src[i];
    dst[i] = raised > hi ? hi : raised;
  }
}

void clampS8(const int8_t *src, int8_t *dst, int64_t n, int8_t lo, int8_t hi) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    vst1q_s8(dst + i, vminq_s8(vmaxq_s8(vld1q_s8(src + i), vdupq_n_s8(lo)), vdupq_n_s8(hi)));
  for (; i < n; ++i) {
    int8_t raised = src[i] < lo ? lo : src[i];
    dst[i] = raised > hi ? hi : raised;
  }
}

} // namespace

const CodeMapKernels code_map_neon = {&applyLut, &clampU8, &clampS8};

} // namespace qfx::kernels
