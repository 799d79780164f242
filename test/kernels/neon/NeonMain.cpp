// Runs every registered test; the main of the cross-compiled check.
#include "Catch.h"

#include "kernels/isa/Isa.h"

int main() {
  bool hasDot = qfx::kernels::isIsaSupported(qfx::kernels::Isa::NeonDot);
  std::printf("best instruction set: %s\n", hasDot ? "neondot" : "scalar");
  for (const qfx::test::NamedTest &test : qfx::test::getTests()) {
    std::printf("  %s\n", test.name);
    std::fflush(stdout);
    test.run();
  }
  std::printf("%zu tests passed\n", qfx::test::getTests().size());
  return hasDot ? 0 : 1;
}
