// Chooses and times the register-only sequence of an instruction set.
#include "tools/bench/Peak.h"

#include <algorithm>
#include <chrono>

namespace qfx::bench {

using kernels::Isa;

const char *getPeakSequence(Isa isa) {
  switch (isa) {
  case Isa::Scalar:
    return "";
  case Isa::Avx2:
    return "vpmaddubsw+vpmaddwd+vpaddd ymm";
  case Isa::AvxVnni:
    return "vpdpbusd ymm";
  case Isa::Avx512Vnni:
    return "vpdpbusd zmm";
  case Isa::NeonDot:
    return "sdot 4s";
  }
  return "";
}

static double spin(Isa isa, int64_t rounds) {
  switch (isa) {
#if defined(__x86_64__)
  case Isa::Avx2:
    return spinAvx2(rounds);
  case Isa::AvxVnni:
    return spinAvxVnni(rounds);
  case Isa::Avx512Vnni:
    return spinAvx512Vnni(rounds);
#elif defined(__aarch64__)
  case Isa::NeonDot:
    return spinNeonDot(rounds);
#endif
  default:
    return 0;
  }
}

double measurePeakGops(Isa isa) {
  double best = 0;
  for (int i = 0; i < 12; ++i) {
    auto begin = std::chrono::steady_clock::now();
    double operations = spin(isa, 1000000);
    best = std::max(best, operations / std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

} // namespace qfx::bench
