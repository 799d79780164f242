// Seeded inputs and bit comparison for the float and elementwise kernel tests.
#ifndef TEST_KERNELS_FLOAT_FLOATTEST_H
#define TEST_KERNELS_FLOAT_FLOATTEST_H

#include "kernels/isa/Isa.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace qfx::test {

/// xorshift64*: the same numbers everywhere.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint32_t bits() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return static_cast<uint32_t>((state * 0x2545f4914f6cdd1du) >> 32);
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(bits() % static_cast<uint32_t>(n)); }
  float uniform(float lo, float hi) { return lo + (hi - lo) * (static_cast<float>(bits() >> 8) * 0x1p-24f); }

  std::vector<float> floats(int64_t n, float lo = -4, float hi = 4) {
    std::vector<float> v(static_cast<size_t>(n));
    for (float &x : v)
      x = uniform(lo, hi);
    return v;
  }
  template <class T> std::vector<T> codes(int64_t n) {
    std::vector<T> v(static_cast<size_t>(n));
    for (T &x : v)
      x = static_cast<T>(bits());
    return v;
  }

private:
  uint64_t state;
};

/// Floats with every kind of value a kernel may meet: specials, tiny, huge and ordinary ones.
inline std::vector<float> nastyFloats(int64_t n, uint64_t seed) {
  static constexpr float kSpecials[] = {0.0f,
                                        -0.0f,
                                        1.0f,
                                        -1.0f,
                                        __builtin_inff(),
                                        -__builtin_inff(),
                                        1e-45f,
                                        -1e-45f,
                                        1e-38f,
                                        3.4e38f,
                                        -3.4e38f,
                                        0.5f,
                                        1.5f,
                                        2.5f,
                                        -0.5f,
                                        88.5f,
                                        -88.5f,
                                        104.0f,
                                        -104.0f,
                                        6.0f,
                                        -3.0f,
                                        3.0f,
                                        2147483648.0f,
                                        -2147483648.0f,
                                        1e10f,
                                        -1e10f,
                                        0.3f,
                                        1e-4f,
                                        __builtin_nanf("")};
  Random random(seed);
  std::vector<float> v(static_cast<size_t>(n));
  for (float &x : v) {
    uint32_t kind = random.bits() % 8;
    if (kind == 0)
      x = kSpecials[random.bits() % (sizeof(kSpecials) / sizeof(float))];
    else if (kind == 1) {
      uint32_t bits = random.bits();
      std::memcpy(&x, &bits, 4); // any bit pattern
      if (x != x)
        x = __builtin_nanf("");
    } else
      x = random.uniform(-8, 8);
  }
  return v;
}

/// Equal bits, where every NaN counts as the same value.
inline bool sameBits(const float *a, const float *b, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    if (std::memcmp(a + i, b + i, 4) != 0 && !(a[i] != a[i] && b[i] != b[i]))
      return false;
  return true;
}
inline bool sameBits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() && sameBits(a.data(), b.data(), static_cast<int64_t>(a.size()));
}

/// The instruction sets beyond scalar that this processor can run.
inline std::vector<kernels::Isa> vectorIsas() {
  using kernels::Isa;
  std::vector<Isa> isas;
  for (Isa isa : {Isa::Avx2, Isa::AvxVnni, Isa::Avx512Vnni, Isa::NeonDot})
    if (kernels::isIsaSupported(isa))
      isas.push_back(isa);
  return isas;
}

} // namespace qfx::test

#endif // TEST_KERNELS_FLOAT_FLOATTEST_H
