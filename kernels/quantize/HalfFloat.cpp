// float16 and bfloat16 conversions in integer arithmetic: the same on every machine, and fast enough to load models.
#include "kernels/quantize/HalfFloat.h"

#include <bit>

namespace qfx::kernels {

static float fromF16(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, exponent = (half >> 10) & 31, mantissa = half & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13) | (mantissa ? 0x400000 : 0));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  float magnitude = static_cast<float>(mantissa) * 0x1p-24f; // zero or subnormal: exact
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

static uint16_t toF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
  if (magnitude >= 0x477ff000) // 65520 and above round to infinity
    return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) { // below 2^-14: adding 0.5 aligns the subnormal's last bit with f32's
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

static uint16_t toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

void convertF16ToF32(const uint16_t *src, float *dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    dst[i] = fromF16(src[i]);
}

void convertF32ToF16(const float *src, uint16_t *dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    dst[i] = toF16(src[i]);
}

void convertBf16ToF32(const uint16_t *src, float *dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    dst[i] = std::bit_cast<float>(static_cast<uint32_t>(src[i]) << 16);
}

void convertF32ToBf16(const float *src, uint16_t *dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    dst[i] = toBf16(src[i]);
}

} // namespace qfx::kernels
