// Depthwise tile of NEON: codes and weights widened to int16, products added in int32.
#include "kernels/depthwise/DepthwiseTile.h"

#include <arm_neon.h>

namespace {

struct Accumulators {
  int32x4_t lanes[4];
};

inline void addTap(Accumulators &acc, uint8x16_t codes, int8x16_t weights) {
  int16x8_t a[2] = {vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(codes))),
                    vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(codes)))};
  int16x8_t w[2] = {vmovl_s8(vget_low_s8(weights)), vmovl_s8(vget_high_s8(weights))};
  for (int half = 0; half < 2; ++half) {
    acc.lanes[2 * half] = vmlal_s16(acc.lanes[2 * half], vget_low_s16(a[half]), vget_low_s16(w[half]));
    acc.lanes[2 * half + 1] = vmlal_s16(acc.lanes[2 * half + 1], vget_high_s16(a[half]), vget_high_s16(w[half]));
  }
}

/// The four codes of one accumulator as saturated int16, zero point not added; a NaN counts as too small, as on x86.
inline int16x4_t finish(int32x4_t acc, const int32_t *offset, const float *bias, const float *multiplier, float bound) {
  float32x4_t value = vcvtq_f32_s32(vaddq_s32(acc, vld1q_s32(offset)));
  value = vmulq_f32(vaddq_f32(value, vld1q_f32(bias)), vld1q_f32(multiplier));
  value = vminq_f32(vmaxnmq_f32(value, vdupq_n_f32(-1e9f)), vdupq_n_f32(bound));
  return vqmovn_s32(vcvtnq_s32_f32(value));
}

} // namespace

void qfx::kernels::depthwise_u8s8s32_16x1_neondot(const DepthwiseTile &tile) {
  constexpr int kWidth = 16;
  const float bound = static_cast<float>(tile.high - tile.zeroPoint);
  const int16x8_t zeroPoint = vdupq_n_s16(static_cast<int16_t>(tile.zeroPoint));
  const uint8x16_t low = vdupq_n_u8(static_cast<uint8_t>(tile.low)), high = vdupq_n_u8(static_cast<uint8_t>(tile.high));
  const int8_t *weights = tile.weights;
  for (int64_t first = 0; first < tile.channels; first += kWidth, weights += tile.tapGroups * kWidth) {
    for (int64_t pixel = 0; pixel < tile.pixels; ++pixel) {
      Accumulators acc = {{vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)}};
      for (int64_t t = 0; t < tile.tapGroups; ++t)
        addTap(acc, vld1q_u8(tile.taps[t] + pixel * tile.srcStep + first), vld1q_s8(weights + t * kWidth));
      int16x4_t words[4];
      for (int j = 0; j < 4; ++j)
        words[j] = finish(acc.lanes[j], tile.offset + first + 4 * j, tile.bias + first + 4 * j,
                          tile.multiplier + first + 4 * j, bound);
      uint8x8_t halves[2];
      for (int half = 0; half < 2; ++half)
        halves[half] = vqmovun_s16(vqaddq_s16(vcombine_s16(words[2 * half], words[2 * half + 1]), zeroPoint));
      uint8x16_t codes = vminq_u8(vmaxq_u8(vcombine_u8(halves[0], halves[1]), low), high);
      uint8_t *dst = tile.dst + pixel * tile.dstStep + first;
      if (tile.channels - first >= kWidth) {
        vst1q_u8(dst, codes);
        continue;
      }
      uint8_t row[kWidth];
      vst1q_u8(row, codes);
      for (int64_t c = 0; c < tile.channels - first; ++c)
        dst[c] = row[c];
    }
  }
}
