// A small random number generator whose sequence is the same everywhere (splitmix64).
#ifndef TEST_FUZZ_RANDOM_H
#define TEST_FUZZ_RANDOM_H

#include <cassert>
#include <cstddef>
#include <cstdint>

namespace qfx::fuzz {

class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    state += 0x9E3779B97F4A7C15;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// In [0, count); count > 0.
  size_t below(size_t count) {
    assert(count > 0 && "nothing to choose from");
    return static_cast<size_t>(next() % count);
  }
  /// In [low, high].
  int64_t between(int64_t low, int64_t high) { return low + static_cast<int64_t>(below(static_cast<size_t>(high - low + 1))); }
  /// True once in `count` times.
  bool oneIn(size_t count) { return below(count) == 0; }
  /// In [low, high).
  double real(double low, double high) { return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53; }
  template <class List> auto &pick(List &list) { return list[below(list.size())]; }
  template <class T, size_t N> const T &pick(const T (&list)[N]) { return list[below(N)]; }

private:
  uint64_t state;
};

} // namespace qfx::fuzz

#endif // TEST_FUZZ_RANDOM_H
