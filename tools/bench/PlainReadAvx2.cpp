// 32-byte loads.
#include "tools/bench/PlainRead.h"

#include "kernels/isa/Intrinsics.h"

void qfx::bench::readPlainAvx2(const float *src, int64_t n) {
  for (int64_t i = 0; i + 32 <= n; i += 32) {
    __m256 a = _mm256_loadu_ps(src + i), b = _mm256_loadu_ps(src + i + 8), c = _mm256_loadu_ps(src + i + 16),
           d = _mm256_loadu_ps(src + i + 24);
    __asm__ volatile("" : : "x"(a), "x"(b), "x"(c), "x"(d)); // the loads must happen
  }
}
