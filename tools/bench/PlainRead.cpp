// Picks the plain read of this processor.
#include "tools/bench/PlainRead.h"

#include "kernels/isa/Isa.h"

#include <cstring>

namespace qfx::bench {

static void readWords(const float *src, int64_t n) {
  for (int64_t i = 0; i + 2 <= n; i += 2) {
    uint64_t word;
    std::memcpy(&word, src + i, sizeof(word));
    __asm__ volatile("" : : "r"(word)); // the load must happen
  }
}

void readPlain(const float *src, int64_t n) {
#if defined(__x86_64__)
  if (kernels::isIsaSupported(kernels::Isa::Avx2))
    return readPlainAvx2(src, n);
#endif
  readWords(src, n);
}

} // namespace qfx::bench
