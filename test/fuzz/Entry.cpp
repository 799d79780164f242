// What libFuzzer calls; QFX_FUZZ_TARGET names the target of this program.
#include "test/fuzz/Targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  qfx::fuzz::QFX_FUZZ_TARGET(data, size);
  return 0;
}
