// sdot on registers.
#include "tools/bench/Peak.h"

#include <arm_neon.h>

double qfx::bench::spinNeonDot(int64_t rounds) {
  int8x16_t a = vdupq_n_s8(3), b = vdupq_n_s8(5);
  int32x4_t x[8] = {};
  for (int64_t i = 0; i < rounds; ++i)
    for (int32x4_t &sum : x)
      __asm__ volatile("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
  return static_cast<double>(rounds) * 8 * 32;
}
