// Detects the processor's instruction sets and keeps the override that tests and QFX_ISA may set.
#include "kernels/isa/Isa.h"

#include <atomic>
#include <cstdlib>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace qfx::kernels {

static constexpr std::string_view kNames[] = {"scalar", "avx2", "avxvnni", "avx512vnni", "neondot"};
static constexpr int kNumIsas = 5;
static std::atomic<int> override{-1};

std::string_view getIsaName(Isa isa) { return kNames[static_cast<int>(isa)]; }

bool parseIsa(std::string_view name, Isa &isa) {
  for (int i = 0; i < kNumIsas; ++i)
    if (kNames[i] == name) {
      isa = static_cast<Isa>(i);
      return true;
    }
  return false;
}

#if defined(__x86_64__)
/// CPUID leaf 7 subleaf 1, EAX bit 4: g++ 12's __builtin_cpu_supports does not know "avxvnni".
static bool hasAvxVnni() {
  uint32_t a = 7, b, c = 1, d;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return (a >> 4) & 1;
}
#endif

bool isIsaSupported(Isa isa) {
#if defined(__x86_64__)
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  switch (isa) {
  case Isa::Scalar:
    return true;
  case Isa::Avx2:
    return avx2;
  case Isa::AvxVnni:
    return avx2 && __builtin_cpu_supports("avx") && hasAvxVnni();
  case Isa::Avx512Vnni:
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni");
  case Isa::NeonDot:
    return false;
  }
  return false;
#elif defined(__aarch64__)
  constexpr unsigned long kHwcapAsimdDp = 1ul << 20;
  return isa == Isa::Scalar || (isa == Isa::NeonDot && (getauxval(AT_HWCAP) & kHwcapAsimdDp));
#else
  return isa == Isa::Scalar;
#endif
}

static Isa detectIsa() {
  if (const char *name = std::getenv("QFX_ISA")) {
    Isa isa;
    if (parseIsa(name, isa) && isIsaSupported(isa))
      return isa;
  }
  for (int i = kNumIsas - 1; i > 0; --i)
    if (isIsaSupported(static_cast<Isa>(i)))
      return static_cast<Isa>(i);
  return Isa::Scalar;
}

Isa getCurrentIsa() {
  static const Isa detected = detectIsa();
  int forced = override.load(std::memory_order_relaxed);
  return forced >= 0 ? static_cast<Isa>(forced) : detected;
}

bool isIsaUsable(Isa kernelIsa, Isa current) {
  if (kernelIsa == Isa::Scalar || kernelIsa == current)
    return true;
  return kernelIsa == Isa::Avx2 && (current == Isa::AvxVnni || current == Isa::Avx512Vnni);
}

ScopedIsa::ScopedIsa(Isa isa) : previous(override.exchange(static_cast<int>(isa))) {}
ScopedIsa::~ScopedIsa() { override.store(previous); }

} // namespace qfx::kernels
