// vpdpbusd zmm on registers.
#include "tools/bench/Peak.h"

#include "kernels/isa/Intrinsics.h"

double qfx::bench::spinAvx512Vnni(int64_t rounds) {
  __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
  __m512i x0 = a, x1 = a, x2 = a, x3 = a, x4 = a, x5 = a, x6 = a, x7 = a, x8 = a, x9 = a;
#define QFX_SPIN(x) "vpdpbusd %11, %10, " x "\n\t"
  for (int64_t i = 0; i < rounds; ++i)
    __asm__ volatile(QFX_SPIN("%0") QFX_SPIN("%1") QFX_SPIN("%2") QFX_SPIN("%3") QFX_SPIN("%4") QFX_SPIN("%5")
                         QFX_SPIN("%6") QFX_SPIN("%7") QFX_SPIN("%8") QFX_SPIN("%9")
                     : "+v"(x0), "+v"(x1), "+v"(x2), "+v"(x3), "+v"(x4), "+v"(x5), "+v"(x6), "+v"(x7), "+v"(x8),
                       "+v"(x9)
                     : "v"(a), "v"(b));
#undef QFX_SPIN
  return static_cast<double>(rounds) * 10 * 128;
}
