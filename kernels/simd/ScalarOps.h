// The words kernels are written in, spoken one element at a time: the oracle every vector unit is compared with.
#ifndef KERNELS_SIMD_SCALAROPS_H
#define KERNELS_SIMD_SCALAROPS_H

#include <cstdint>

namespace qfx::kernels {
namespace { // each file that includes this keeps its own copy: it may be compiled with other flags

/// Every Ops struct offers these names with these meanings, so one template gives the same bits on all of them:
/// min(a, b) = a < b ? a : b and max(a, b) = a > b ? a : b (b where either is NaN); fma rounds once; rne and toInt
/// round half to even (toInt within int32 only); div and sqrt are correctly rounded; 8-bit codes are loaded into int32
/// lanes and stored from lanes in range.
struct ScalarOps {
  using F = float;
  using I = int32_t;
  static constexpr int N = 1;

  static F set(float v) { return v; }
  static I setInt(int32_t v) { return v; }
  static F load(const float *p) { return *p; }
  static void store(float *p, F v) { *p = v; }
  static I loadInt(const int32_t *p) { return *p; }
  static void storeInt(int32_t *p, I v) { *p = v; }

  static F fma(F a, F b, F c) { return __builtin_fmaf(a, b, c); }
  static F min(F a, F b) { return a < b ? a : b; }
  static F max(F a, F b) { return a > b ? a : b; }
  static F div(F a, F b) { return a / b; }
  static F sqrt(F a) { return __builtin_sqrtf(a); }
  static F rne(F a) { return __builtin_nearbyintf(a); }
  static F floor(F a) { return __builtin_floorf(a); }
  static F trunc(F a) { return __builtin_truncf(a); }
  static F abs(F a) { return __builtin_fabsf(a); }
  static F select(bool m, F a, F b) { return m ? a : b; }
  static I selectInt(bool m, I a, I b) { return m ? a : b; }
  static bool isNan(F a) { return a != a; }
  static bool either(bool a, bool b) { return a || b; }
  static bool both(bool a, bool b) { return a && b; }
  static bool any(bool a) { return a; }
  static bool less(F a, F b) { return a < b; }
  static bool lessEqual(F a, F b) { return a <= b; }
  static bool equal(F a, F b) { return a == b; }

  static I toInt(F a) { return static_cast<int32_t>(__builtin_lrintf(a)); }
  static I toIntTrunc(F a) { return static_cast<int32_t>(a); }
  static F toFloat(I a) { return static_cast<float>(a); }
  static I bitsOf(F a) {
    I i;
    __builtin_memcpy(&i, &a, 4);
    return i;
  }
  static F ofBits(I a) {
    F f;
    __builtin_memcpy(&f, &a, 4);
    return f;
  }
  static I add(I a, I b) { return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b)); }
  static I sub(I a, I b) { return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b)); }
  static I mul(I a, I b) { return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b)); }
  static I bitAnd(I a, I b) { return a & b; }
  static I bitOr(I a, I b) { return a | b; }
  static I bitXor(I a, I b) { return a ^ b; }
  static I minInt(I a, I b) { return a < b ? a : b; }
  static I maxInt(I a, I b) { return a > b ? a : b; }
  template <int S> static I shiftLeft(I a) { return static_cast<int32_t>(static_cast<uint32_t>(a) << S); }
  template <int S> static I shiftRight(I a) { return a >> S; } // arithmetic

  static I loadCodes(const uint8_t *p) { return *p; }
  static I loadCodes(const int8_t *p) { return *p; }
  /// Four batches at a time, the width at which vector units pack best; every lane lies within the code's range.
  static void storeCodes4(uint8_t *p, I a, I b, I c, I d) { put4(p, a, b, c, d); }
  static void storeCodes4(int8_t *p, I a, I b, I c, I d) { put4(p, a, b, c, d); }

  /// 8-bit codes as they are, as many as one register holds.
  template <class T> struct Codes {
    using V = T;
    static constexpr int N = 1;
    static V load(const T *p) { return *p; }
    static void store(T *p, V v) { *p = v; }
    static V max(V a, V b) { return a > b ? a : b; }
  };

private:
  template <class T> static void put4(T *p, I a, I b, I c, I d) {
    p[0] = static_cast<T>(a);
    p[1] = static_cast<T>(b);
    p[2] = static_cast<T>(c);
    p[3] = static_cast<T>(d);
  }
};

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_SIMD_SCALAROPS_H
