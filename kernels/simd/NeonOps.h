// The words of ScalarOps.h spoken by ARM's 64-bit NEON, four lanes at a time; only *NeonDot.cpp files include this.
#ifndef KERNELS_SIMD_NEONOPS_H
#define KERNELS_SIMD_NEONOPS_H

#include <arm_neon.h>
#include <cstdint>
#include <xsimd/xsimd.hpp>

namespace qfx::kernels {
namespace {

struct NeonOps {
  using Arch = xsimd::neon64;
  using F = xsimd::batch<float, Arch>;
  using I = xsimd::batch<int32_t, Arch>;
  using M = xsimd::batch_bool<float, Arch>;
  static constexpr int N = 4;

  static F set(float v) { return F(v); }
  static I setInt(int32_t v) { return I(v); }
  static F load(const float *p) { return F::load_unaligned(p); }
  static void store(float *p, F v) { v.store_unaligned(p); }
  static I loadInt(const int32_t *p) { return I::load_unaligned(p); }
  static void storeInt(int32_t *p, I v) { v.store_unaligned(p); }

  static F fma(F a, F b, F c) { return F(vfmaq_f32(c, a, b)); }
  static F min(F a, F b) { return F(vbslq_f32(vcltq_f32(a, b), a, b)); } // not vminq: that one propagates NaN
  static F max(F a, F b) { return F(vbslq_f32(vcgtq_f32(a, b), a, b)); }
  static F div(F a, F b) { return F(vdivq_f32(a, b)); } // xsimd 8.1's operator refines an estimate
  static F sqrt(F a) { return F(vsqrtq_f32(a)); }
  static F rne(F a) { return F(vrndnq_f32(a)); }
  static F floor(F a) { return F(vrndmq_f32(a)); }
  static F trunc(F a) { return F(vrndq_f32(a)); }
  static F abs(F a) { return F(vabsq_f32(a)); }
  static F select(M m, F a, F b) { return F(vbslq_f32(m, a, b)); }
  static I selectInt(M m, I a, I b) { return I(vbslq_s32(m, a, b)); }
  static M isNan(F a) { return M(vmvnq_u32(vceqq_f32(a, a))); }
  static M either(M a, M b) { return M(vorrq_u32(a, b)); }
  static M both(M a, M b) { return M(vandq_u32(a, b)); }
  static bool any(M a) { return vmaxvq_u32(a) != 0; }
  static M less(F a, F b) { return M(vcltq_f32(a, b)); }
  static M lessEqual(F a, F b) { return M(vcleq_f32(a, b)); }
  static M equal(F a, F b) { return M(vceqq_f32(a, b)); }

  static I toInt(F a) { return I(vcvtnq_s32_f32(a)); }
  static I toIntTrunc(F a) { return I(vcvtq_s32_f32(a)); }
  static F toFloat(I a) { return F(vcvtq_f32_s32(a)); }
  static I bitsOf(F a) { return I(vreinterpretq_s32_f32(a)); }
  static F ofBits(I a) { return F(vreinterpretq_f32_s32(a)); }
  static I add(I a, I b) { return a + b; }
  static I sub(I a, I b) { return a - b; }
  static I mul(I a, I b) { return I(vmulq_s32(a, b)); }
  static I bitAnd(I a, I b) { return I(vandq_s32(a, b)); }
  static I bitOr(I a, I b) { return I(vorrq_s32(a, b)); }
  static I bitXor(I a, I b) { return I(veorq_s32(a, b)); }
  static I minInt(I a, I b) { return I(vminq_s32(a, b)); }
  static I maxInt(I a, I b) { return I(vmaxq_s32(a, b)); }
  template <int S> static I shiftLeft(I a) { return I(vshlq_n_s32(a, S)); }
  template <int S> static I shiftRight(I a) { return I(vshrq_n_s32(a, S)); }

  static I loadCodes(const uint8_t *p) {
    uint32_t word;
    __builtin_memcpy(&word, p, 4);
    uint16x8_t wide = vmovl_u8(vcreate_u8(word));
    return I(vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(wide))));
  }
  static I loadCodes(const int8_t *p) {
    uint32_t word;
    __builtin_memcpy(&word, p, 4);
    int16x8_t wide = vmovl_s8(vcreate_s8(word));
    return I(vmovl_s16(vget_low_s16(wide)));
  }
  static void storeCodes4(uint8_t *p, I a, I b, I c, I d) {
    uint8x8_t low = vqmovun_s16(vcombine_s16(vqmovn_s32(a), vqmovn_s32(b)));
    uint8x8_t high = vqmovun_s16(vcombine_s16(vqmovn_s32(c), vqmovn_s32(d)));
    vst1q_u8(p, vcombine_u8(low, high));
  }
  static void storeCodes4(int8_t *p, I a, I b, I c, I d) {
    int8x8_t low = vqmovn_s16(vcombine_s16(vqmovn_s32(a), vqmovn_s32(b)));
    int8x8_t high = vqmovn_s16(vcombine_s16(vqmovn_s32(c), vqmovn_s32(d)));
    vst1q_s8(p, vcombine_s8(low, high));
  }

  template <class T> struct Codes;
};

template <> struct NeonOps::Codes<uint8_t> {
  using V = uint8x16_t;
  static constexpr int N = 16;
  static V load(const uint8_t *p) { return vld1q_u8(p); }
  static void store(uint8_t *p, V v) { vst1q_u8(p, v); }
  static V max(V a, V b) { return vmaxq_u8(a, b); }
};

template <> struct NeonOps::Codes<int8_t> {
  using V = int8x16_t;
  static constexpr int N = 16;
  static V load(const int8_t *p) { return vld1q_s8(p); }
  static void store(int8_t *p, V v) { vst1q_s8(p, v); }
  static V max(V a, V b) { return vmaxq_s8(a, b); }
};

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_SIMD_NEONOPS_H
