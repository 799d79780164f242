// vpmaddubsw + vpmaddwd + vpaddd on registers.
#include "tools/bench/Peak.h"

#include "kernels/isa/Intrinsics.h"

double qfx::bench::spinAvx2(int64_t rounds) {
  __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5), ones = _mm256_set1_epi16(1);
  __m256i x0 = a, x1 = a, x2 = a, x3 = a, x4 = a, x5 = a, x6 = a, x7 = a;
#define QFX_SPIN(x)                                                                                                    \
  "vpmaddubsw %9, %8, %%ymm15\n\tvpmaddwd %10, %%ymm15, %%ymm15\n\tvpaddd %%ymm15, " x ", " x "\n\t"
  for (int64_t i = 0; i < rounds; ++i)
    __asm__ volatile(QFX_SPIN("%0") QFX_SPIN("%1") QFX_SPIN("%2") QFX_SPIN("%3") QFX_SPIN("%4") QFX_SPIN("%5")
                         QFX_SPIN("%6") QFX_SPIN("%7")
                     : "+x"(x0), "+x"(x1), "+x"(x2), "+x"(x3), "+x"(x4), "+x"(x5), "+x"(x6), "+x"(x7)
                     : "x"(a), "x"(b), "x"(ones)
                     : "xmm15");
#undef QFX_SPIN
  return static_cast<double>(rounds) * 8 * 64;
}
