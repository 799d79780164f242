// vpdpbusd ymm on registers.
#include "tools/bench/Peak.h"

#include "kernels/isa/Intrinsics.h"

double qfx::bench::spinAvxVnni(int64_t rounds) {
  __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5);
  __m256i x0 = a, x1 = a, x2 = a, x3 = a, x4 = a, x5 = a, x6 = a, x7 = a, x8 = a, x9 = a;
#define QFX_SPIN(x) "%{vex%} vpdpbusd %11, %10, " x "\n\t"
  for (int64_t i = 0; i < rounds; ++i)
    __asm__ volatile(QFX_SPIN("%0") QFX_SPIN("%1") QFX_SPIN("%2") QFX_SPIN("%3") QFX_SPIN("%4") QFX_SPIN("%5")
                         QFX_SPIN("%6") QFX_SPIN("%7") QFX_SPIN("%8") QFX_SPIN("%9")
                     : "+x"(x0), "+x"(x1), "+x"(x2), "+x"(x3), "+x"(x4), "+x"(x5), "+x"(x6), "+x"(x7), "+x"(x8),
                       "+x"(x9)
                     : "x"(a), "x"(b));
#undef QFX_SPIN
  return static_cast<double>(rounds) * 10 * 64;
}
